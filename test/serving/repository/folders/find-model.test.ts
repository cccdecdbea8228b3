import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { findModel, locateModel } from "../../../../src/serving/repository/folders/find-model.ts";
import { listVersions } from "../../../../src/serving/repository/folders/list-versions.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";

/** A folder called half with empty files. */
function folderOf(...files: readonly string[]): string {
  const folder = join(tempFolder(), "half");
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), "");
  }
  return folder;
}

test.each([
  ["files", ["1/model.onnx", "002/model.onnx"], "It holds 002/, 1/."],
  ["SavedModels", ["1/saved_model.pb", "2/saved_model.pb"], "It holds 1/, 2/."],
])(
  "a folder of versions that are %s is not one model, and the message says how to serve it",
  async (_, files, names) => {
    const folder = folderOf(...files);
    await expect(findModel(folder)).rejects.toMatchObject({
      code: "failed_precondition",
      message: `The folder "${folder}" holds versions of a model; expected --model half=${folder}, which serves them, or the path of one.`,
      cause: { message: names },
    });
  },
);

test("the only model of a folder is found, be it in a folder with a number", async () => {
  const saved = folderOf("1/saved_model.pb");
  expect(await findModel(saved)).toBe(join(saved, "1"));
  const onnx = folderOf("labels.txt", "net.onnx");
  expect(await findModel(onnx)).toBe(join(onnx, "net.onnx"));
});

test("a folder of Hugging Face means the graph that is exported below its tokenizer, and is one version", async () => {
  const files = ["tokenizer.json", "config.json", "1_Pooling/config.json"];
  const exported = folderOf(...files, "onnx/model.onnx", "onnx/model_quantized.onnx");
  for (const driver of [undefined, "onnx"])
    expect(await findModel(exported, driver)).toBe(join(exported, "onnx/model.onnx"));
  expect((await listVersions(exported)).versions).toEqual([{ version: 1n, path: exported }]);
  expect(await findModel(exported, "tensorflow")).toBe(exported);
  const both = folderOf(...files, "onnx/model.onnx", "model.onnx");
  expect(await findModel(both)).toBe(join(both, "model.onnx"));
  const none = folderOf("onnx/model.onnx");
  expect(await findModel(none)).toBe(none);
});

test.each([
  ["in the folder of a version", "", undefined],
  ["by the name of its folder", "model.onnx", undefined],
  ["with a driver", "", "onnx"],
])("an ONNX model of several files, in a folder as Triton has them, is found %s", async (_, given, driver) => {
  const folder = folderOf("model.onnx/model.onnx", "model.onnx/weights.bin");
  expect(await findModel(join(folder, given), driver)).toBe(join(folder, "model.onnx/model.onnx"));
});

test("a folder called as an ONNX model, without one, is left to the driver to refuse", async () => {
  const folder = folderOf("model.onnx/net.onnx");
  expect(await findModel(folder)).toBe(join(folder, "model.onnx"));
});

test("a folder of other things is left to a driver to refuse", async () => {
  const folder = folderOf("1/notes.txt", "labels.txt");
  expect(await findModel(folder)).toBe(folder);
});

test.each([
  ["onnx:\n    data: model.onnx", "model.onnx", undefined],
  ["sklearn:\n    pickled_model: model.pkl", "model.pkl", undefined],
  ["tensorflow:\n    saved_model_dir: saved", "saved", undefined],
  ["onnx:\n    data: model.onnx", "model.onnx", "onnx"],
  ["onnx:\n    data: model.onnx", "", "mlflow"],
  ["keras:\n    data: data", "data/model.keras", undefined],
  ["tensorflow:\n    data: data\n    model_type: keras", "data/model.keras", undefined],
  ["tensorflow:\n    data: old", "old/model.h5", undefined],
  // It needs code of the user's.
  ["keras:\n    data: own", "", undefined],
  // No driver reads these, or they are not in the folder.
  ["sklearn:\n    pickled_model: model.skops", "", undefined],
  ["onnx:\n    data: missing.onnx", "", undefined],
  ["onnx:\n    data: ../other.onnx", "", undefined],
  ["own:\n    python_model: model.pkl", "", undefined],
  ["catboost:\n    data: model.cb", "model.cb", undefined],
  // MLflow alone puts these together.
  ["sklearn:\n    pickled_model: model.pkl\n    code: code", "", undefined],
  ["sklearn:\n    pickled_model: model.pkl\n  python_function:\n    predict_fn: predict_proba", "", undefined],
  ["sklearn:\n    pickled_model: model.pkl\n    code: null", "model.pkl", undefined],
  ["onnx:\n    data: model.onnx\n    code: code", "model.onnx", undefined],
])("a folder of MLflow with the flavor %j means %j with --driver %s", async (flavor, expected, driver) => {
  const files = ["model.onnx", "model.pkl", "model.skops", "model.cb", "saved/saved_model.pb", "../other.onnx"];
  const keras = ["data/model.keras", "old/model.h5", "own/model.keras", "own/custom_objects.cloudpickle"];
  const folder = folderOf(...files, ...keras);
  const others = flavor.includes("python_function") ? "" : "  python_function:\n    env: conda.yaml\n";
  writeFileSync(join(folder, "MLmodel"), `flavors:\n  ${flavor}\n${others}`);
  expect(await findModel(folder, driver)).toBe(join(folder, expected));
});

test.each([
  ["flavors: [", "cannot be read: "],
  ["", "has no flavors"],
  ["flavors: 1", "has no flavors"],
  [`flavors: # ${"x".repeat(512 * 1024)}`, "has more than 512 KiB; --driver mlflow leaves it to MLflow"],
])(
  "a description of MLflow's that cannot be read (case %#) is refused where no other model is beside it",
  async (text, message) => {
    const folder = folderOf("labels.txt");
    writeFileSync(join(folder, "MLmodel"), text);
    await expect(findModel(folder)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining(message),
    });
    expect(await findModel(folder, "mlflow")).toBe(folder);
    expect(await findModel(folder, "onnx")).toBe(folder);
    writeFileSync(join(folder, "net.onnx"), "");
    expect(await findModel(folder)).toBe(join(folder, "net.onnx"));
    writeFileSync(join(folder, "saved_model.pb"), "");
    expect((await locateModel(folder, {})).driver).toBe("tensorflow");
  },
);

test.each([
  [["half.onnx", "more/MLmodel"], "half.onnx"],
  [["half.onnx", "MLmodel/notes.txt"], "half.onnx"],
  [["more/MLmodel", "labels.txt"], "more"],
])("of %j the model is %s, as a folder of MLflow's hides no file", async (files, expected) => {
  const folder = folderOf(...files);
  expect(await findModel(folder)).toBe(join(folder, expected));
});

test.each([
  [["net.onnx"], "net.onnx"],
  [["net.onnx", "net.ubj"], ""],
  [["python_model.pkl"], ""],
])("beside a description of a function alone %j means %j", async (files, expected) => {
  const folder = folderOf(...files);
  writeFileSync(join(folder, "MLmodel"), "flavors:\n  python_function:\n    env: conda.yaml\n");
  expect(await findModel(folder)).toBe(join(folder, expected));
});

// As they lie on Hugging Face's hub, by sentence-transformers, Optimum and transformers.js.
test.each([
  [
    "sentence-transformers",
    "onnx/model.onnx",
    ["onnx/model_O4.onnx", "onnx/model_qint8_avx512.onnx", "1_Pooling/config.json", "model.safetensors"],
  ],
  ["one quantised variant alone", "onnx/model_qint8_arm64.onnx", ["1_Pooling/config.json"]],
  [
    "OpenVINO's graphs alone",
    "openvino/openvino_model.xml",
    ["openvino/openvino_model.bin", "openvino/openvino_model_qint8_quantized.xml"],
  ],
  ["both kinds of graphs", "onnx/model.onnx", ["openvino/openvino_model.xml", "openvino/openvino_model.bin"]],
  ["Optimum's, beside the tokenizer", "model.onnx", ["model_quantized.onnx", "onnx/model.onnx"]],
  [
    "Optimum's for OpenVINO",
    "openvino_model.xml",
    ["openvino_tokenizer.xml", "openvino_detokenizer.xml", "openvino_model.bin"],
  ],
])("of a folder with a tokenizer, in the layout of %s, %s is the model", async (_, model, others) => {
  const folder = folderOf("tokenizer.json", "config.json", "modules.json", model, ...others);
  expect(await findModel(folder)).toBe(join(folder, model));
  const [driver = ""] = model.endsWith(".xml") ? ["openvino"] : ["onnx"];
  expect(await locateModel(folder, { driver })).toEqual({ path: join(folder, model), driver });
});

test("several variants without a main one, and a folder of graphs without a tokenizer, are not guessed", async () => {
  const variants = folderOf("tokenizer.json", "onnx/model_O4.onnx", "onnx/model_int8.onnx");
  await expect(findModel(variants)).rejects.toMatchObject({
    message: `The folder "${join(variants, "onnx")}" has several models; expected one, or the path of one.`,
    cause: { message: "It holds model_O4.onnx, model_int8.onnx." },
  });
  const plain = folderOf("config.json", "onnx/model.onnx");
  expect(await findModel(plain)).toBe(plain);
  const weights = folderOf("config.json", "model.safetensors");
  await expect(locateModel(weights, {})).rejects.toThrow("add --driver transformers");
});
