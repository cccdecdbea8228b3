import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tableOf, toyEncoder, toyTokenizer } from "../../test/helpers/text-model.ts";

/** A model as a configuration file describes it. */
export type DescribedModel = Readonly<Record<string, unknown>>;

/** A Python that has torch, and numpy; absent = its models are left out. */
const PYTHON = process.env.KSERVING_TEST_FRAMEWORKS;

/** A model of this repository for each driver and engine, by name. */
export function driverModels(): Readonly<Record<string, DescribedModel>> {
  return {
    null: { driver: "null" },
    onnx: { driver: "onnx", path: fixture("models/half-plus-two.onnx") },
    openvino: { driver: "openvino", path: fixture("openvino/add_multiply") },
    tensorflow: { driver: "tensorflow", path: fixture("tensorflow/half_plus_two") },
    portable: { driver: "tensorflow", path: fixture("tensorflow/half_plus_two"), options: { engine: "portable" } },
    keras: { driver: "tensorflow", path: fixture("tensorflow-formats/dense/model.keras") },
    tflite: { driver: "tensorflow", path: fixture("tensorflow-formats/lite_two_inputs/model.tflite") },
    "tfjs-graph": { driver: "tensorflow", path: fixture("tensorflow-formats/js_two_inputs") },
    hooks: { driver: "null", hooks: fromRoot("bench/leaks/leak-hooks.ts") },
    texts: { driver: "onnx", path: textModel(), options: { texts: "true" } },
    isolated: { driver: "onnx", path: fixture("models/half-plus-two.onnx"), isolate: true },
    ...(PYTHON !== undefined && pythonModels(PYTHON)),
  };
}

/** A path of this repository. */
export function fromRoot(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}

function pythonModels(python: string): Record<string, DescribedModel> {
  const toy = { python, model_class: "toy.models:Scale", import_path: fixture("python") };
  return {
    python: { driver: "python", options: toy },
    pytorch: { driver: "pytorch", path: torchModel(python), options: { python, inputs: "x:float32[-1,4]" } },
  };
}

let torch: string | undefined;

function torchModel(python: string): string {
  if (torch === undefined) {
    const folder = ownFolder();
    execFileSync(python, [fromRoot("test/fixtures/make/torch-models.py"), folder], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    torch = join(folder, "net.script.pt");
  }
  return torch;
}

let encoder: string | undefined;

/** An embedding model with its tokenizer. */
function textModel(): string {
  if (encoder === undefined) {
    const folder = ownFolder();
    const model = toyEncoder({ table: tableOf({ good: [3, 0, 0], bad: [0, 4, 0] }) });
    const config = JSON.stringify({ architectures: ["BertModel"], model_type: "bert", hidden_size: 3 });
    for (const [name, content] of Object.entries({ ...toyTokenizer(), "config.json": config, "model.onnx": model }))
      writeFileSync(join(folder, name), content);
    encoder = join(folder, "model.onnx");
  }
  return encoder;
}

/** A folder that is deleted with the end of this process. */
function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "kserving-leaks-models-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function fixture(path: string): string {
  return fromRoot(`test/fixtures/${path}`);
}
