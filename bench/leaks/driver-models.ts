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
    pairs: { driver: "onnx", path: pairModel(), options: { texts: "true" } },
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
    weights: { driver: "pytorch", path: weights(python), options: { python } },
  };
}

const torchModel = once((python: string) => {
  const folder = ownFolder();
  runPython(python, [fromRoot("test/fixtures/make/torch-models.py"), folder]);
  return join(folder, "net.script.pt");
});

const MAKE_WEIGHTS = `
import sys, transformers
sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
transformers.BertModel(transformers.BertConfig(vocab_size=10, **sizes)).save_pretrained(sys.argv[1])
`;

/** An encoder without a graph, with its tokenizer. */
const weights = once((python: string) => {
  const folder = ownFolder();
  runPython(python, ["-c", MAKE_WEIGHTS, folder]);
  for (const [name, content] of Object.entries(toyTokenizer())) writeFileSync(join(folder, name), content);
  return folder;
});

function runPython(python: string, args: readonly string[]): void {
  execFileSync(python, args, { stdio: ["ignore", "ignore", "inherit"] });
}

/** Makes what is made once for all servers. */
function once<Given extends readonly unknown[]>(make: (...given: Given) => string): (...given: Given) => string {
  let made: string | undefined;
  return (...given) => {
    made ??= make(...given);
    return made;
  };
}

/** An embedding model with its tokenizer. */
const textModel = once(() =>
  writeEncoder(
    { architectures: ["BertModel"], model_type: "bert", hidden_size: 3 },
    { table: tableOf({ good: [3, 0, 0], bad: [0, 4, 0] }) },
  ),
);

/** A cross-encoder whose own scores may be any numbers. */
const pairModel = once(() =>
  writeEncoder(
    {
      ...{ architectures: ["BertForSequenceClassification"], id2label: { 0: "LABEL_0" } },
      sentence_transformers: { activation_fn: "torch.nn.modules.linear.Identity" },
    },
    { head: "mean", output: "logits", table: tableOf({ good: [5], bad: [-5] }) },
  ),
);

function writeEncoder(config: object, encoder: Parameters<typeof toyEncoder>[0]): string {
  const folder = ownFolder();
  const files = { ...toyTokenizer(), "config.json": JSON.stringify(config), "model.onnx": toyEncoder(encoder) };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return join(folder, "model.onnx");
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
