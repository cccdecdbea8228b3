import { join } from "node:path";
import { expect, test } from "vitest";
import { driversToAsk } from "../../../src/drivers/drivers-for.ts";
import { isEncoderFolder, readEncoder, readStoredTensors } from "../../../src/drivers/python/encoder-folder.ts";
import { locateModel } from "../../../src/serving/repository/folders/find-model.ts";
import { inspectFile } from "../../../src/tools/inspection/inspect-file.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { loadModel } from "./load-model.ts";

const FILES = { "config.json": '{"architectures": ["BertModel"]}', "tokenizer.json": "{}", "model.safetensors": "" };
const empty = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, ""]));
const inside = (folder: string) =>
  Object.fromEntries(Object.entries(FILES).map(([name, text]) => [`${folder}/${name}`, text]));

test.each([
  ["with its weights", FILES],
  ["with weights in parts", { ...FILES, "model.safetensors": "", ...empty("model-00001-of-00002.safetensors") }],
  ["as older versions of sentence-transformers wrote it", { ...inside("0_Transformer"), "modules.json": "[]" }],
  ["of a training that can go on", { ...FILES, ...empty("optimizer.pt", "scheduler.pt", "rng_state_0.pth") }],
  ["with weights for other libraries", { ...FILES, ...empty("tf_model.h5", "pytorch_model.bin", "rust_model.ot") }],
])("a folder of transformers %s is served by pytorch", async (_, files) => {
  const path = tempFolder(files);
  expect(isEncoderFolder(path)).toBe(true);
  expect(await locateModel(path, {})).toEqual({ path, driver: "pytorch" });
  expect(await driversToAsk(path)).toEqual(["pytorch"]);
});

test.each([
  ["onnx/model.onnx", "onnx"],
  ["model.onnx", "onnx"],
  ["openvino/openvino_model.xml", "openvino"],
  ["saved_model.pb", "tensorflow"],
  ["traced.pt", "pytorch"],
])("its graph %s goes before its weights, also beside those of other libraries", async (name, driver) => {
  const path = tempFolder({ ...FILES, ...empty("tf_model.h5", name) });
  expect(isEncoderFolder(path)).toBe(false);
  const located = await locateModel(path, {});
  expect(located).toEqual({ path: name === "saved_model.pb" ? path : join(path, name), driver });
});

test("its weights are served in spite of a graph where the driver is named", async () => {
  const path = tempFolder({ ...FILES, ...empty("onnx/model.onnx") });
  expect(await locateModel(path, { driver: "pytorch" })).toEqual({ path, driver: "pytorch" });
});

test.each([
  ["without a tokenizer", "tokenizer.json"],
  ["without a configuration", "config.json"],
  ["without weights", "model.safetensors"],
])("a folder %s is not found by itself", (_, missing) => {
  const files = Object.entries(FILES).filter(([name]) => name !== missing);
  expect(isEncoderFolder(tempFolder(Object.fromEntries(files)))).toBe(false);
});

const encoderOf = (config: string, more = {}) => readEncoder(tempFolder({ ...FILES, "config.json": config, ...more }));
const named = (...architectures: readonly string[]) => JSON.stringify({ architectures });

test("the architecture says which class of transformers it is, and modules say that it is an encoder", async () => {
  const heads = ["BertModel", "BertForSequenceClassification", "BertForTokenClassification"];
  for (const [name, head] of heads.map((each) => [each, each.replace("Bert", "")]))
    expect(await encoderOf(named(String(name)))).toMatchObject({ head });
  const modules = { "modules.json": "[]" };
  expect(await encoderOf(named("Qwen3ForCausalLM"), modules)).toMatchObject({ head: "Model" });
  const older = tempFolder({ ...inside("0_Transformer"), ...modules, "0_Transformer/config.json": "{}" });
  for (const path of [older, join(older, "0_Transformer")])
    expect(await readEncoder(path)).toMatchObject({ folder: join(older, "0_Transformer"), head: "Model" });
  expect(await readEncoder(join(older, "0_Transformer/model.safetensors"))).toBeUndefined();
  expect(await readEncoder(tempFolder({ "config.json": "{}", "model.pt": "" }))).toBeUndefined();
});

test.each([
  ["{", "config.json is not JSON (it may be cut short); download it again."],
  ["[]", "config.json has no object; expected what save_pretrained wrote."],
  ["{}", "config.json names no architecture; expected an encoder: one ending in ForSequenceClassification, "],
  [named("LlamaForCausalLM"), "names LlamaForCausalLM; expected an encoder"],
  [named("GPT2LMHeadModel"), "names GPT2LMHeadModel; expected an encoder"],
  [
    '{"architectures": ["T5Model"], "is_encoder_decoder": true}',
    "names T5Model, with an encoder and a decoder; expected",
  ],
])("before Python is started a configuration is refused that is %s", async (config, message) => {
  const path = tempFolder({ ...FILES, "config.json": config });
  await expect(loadModel("pytorch", path, { options: { python: "/no/python" } })).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringContaining(message),
  });
});

test("weights that are pickles are refused unless the option allows them, before Python is started", async () => {
  const { "model.safetensors": _, ...files } = FILES;
  const path = tempFolder({ ...files, ...empty("pytorch_model.bin") });
  const load = (allow_pickle: string) =>
    loadModel("pytorch", path, { options: { python: "/no/python", allow_pickle } });
  await expect(load("false")).rejects.toThrow("weights as pickles alone (pytorch_model.bin)");
  await expect(load("true")).rejects.toThrow("finds no Python");
});

test("a Python without Transformers is told from one without PyTorch, and what to install is said", async () => {
  const loading = loadModel("pytorch", tempFolder(FILES), { options: { python: "/no/python" } });
  await expect(loading).rejects.toThrow(
    /^The pytorch driver finds no Python with PyTorch and Transformers: \/no\/python: .*\. Install both in one: pip install torch transformers\. Or name/,
  );
});

/** A file of safetensors with two tensors. */
function weights(bytes = 20): Buffer {
  const tensors = {
    __metadata__: { format: "pt" },
    a: { dtype: "F32", shape: [2, 2], data_offsets: [0, 16] },
    b: { dtype: "F16", shape: [2], data_offsets: [16, 20] },
  };
  const header = Buffer.from(JSON.stringify(tensors));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, Buffer.alloc(bytes)]);
}

test("inspect says the task, the vectors and the weights of a folder without a runtime", async () => {
  const config = { architectures: ["BertModel"], model_type: "bert", hidden_size: 8, max_position_embeddings: 64 };
  const files = { ...FILES, "config.json": JSON.stringify(config) };
  const path = tempFolder({ ...files, "model.safetensors": weights() });
  expect(await inspectFile(path)).toEqual({
    format: "weights of transformers (safetensors)",
    weights: new Map([
      ["float32", { tensors: 1, elements: 4, bytes: 16 }],
      ["float16", { tensors: 1, elements: 2, bytes: 4 }],
    ]),
    metadata: {
      task: "embedding of texts, by config.json",
      pooling: "mean",
      dimensions: "8",
      "longest text": "64 tokens",
    },
  });
});

test.each([
  ["an empty file", Buffer.alloc(0), "its header has no end"],
  ["a pointer of Git LFS", Buffer.from("version https://git-lfs.github.com/spec/v1"), "its header has no end"],
  ["a header that is no JSON", Buffer.from("\x02\0\0\0\0\0\0\0{{"), "JSON"],
  ["a file that is cut short", weights(17), "it ends before its tensor b does"],
])("weights that are %s are damaged", (_, content, reason) => {
  const path = tempFolder({ ...FILES, "model.safetensors": content });
  expect(() => readStoredTensors(path)).toThrow(/is damaged or cut short: .*\. Download it again\./);
  expect(() => readStoredTensors(path)).toThrow(reason);
});
