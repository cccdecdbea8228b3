import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

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

let made: string | undefined;

function torchModel(python: string): string {
  if (made === undefined) {
    const folder = mkdtempSync(join(tmpdir(), "kserving-leaks-torch-"));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    execFileSync(python, [fromRoot("test/fixtures/make/torch-models.py"), folder], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    made = join(folder, "net.script.pt");
  }
  return made;
}

function fixture(path: string): string {
  return fromRoot(`test/fixtures/${path}`);
}
