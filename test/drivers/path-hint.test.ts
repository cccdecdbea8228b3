import { join } from "node:path";
import { expect, test } from "vitest";
import { detectDriver } from "../../src/drivers/registry.ts";
import { listModels } from "../../src/serving/repository/folders/list-models.ts";
import { listVersions } from "../../src/serving/repository/folders/list-versions.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const FILES = {
  "emotion.json": '{\n  "format": "graph-model", "weightsManifest": [] }',
  "emotion.bin": "",
  "face.bin": "",
  "face.xml": "",
  "onnx.bin": "\x08\x07\x12\x00",
  "lm.gguf": "GGUF\x03\0\0\0",
  "lm.safetensors": '\x40\0\0\0\0\0\0\0{"w": {}}',
  "net.mlmodel": "\x08\x04\x12\x02",
  "net.engine": "\x01\x02",
  "net.caffemodel": "\x01\x02",
  "model.ckpt-10.index": "\x01\x02",
  "face.onnx.gz": "\x1f\x8b\x08",
  "lfs.mlmodel": "version https://git-lfs.github.com/spec/v1",
};

test.each([
  ["emotion.json", "a TensorFlow.js model; its driver is tensorflow"],
  ["emotion.bin", "the weights of FOLDER/emotion.json; expected that file"],
  ["face.bin", "the weights of FOLDER/face.xml; expected that file"],
  ["onnx.bin", "an ONNX model, or a SavedModel's saved_model.pb under another name"],
  ["lm.gguf", "a GGUF model, which no driver runs"],
  ["lm.safetensors", "a safetensors file: weights without a model; of transformers' models give the folder"],
  ["net.mlmodel", "a Core ML model, which no driver runs; convert what it was made from to ONNX"],
  ["net.engine", "an engine of TensorRT; serve the ONNX model that it was built from"],
  ["net.caffemodel", "a Caffe model, which no driver runs; convert it to ONNX"],
  ["model.ckpt-10.index", "a checkpoint: weights without a model; export the model from the program that trained it"],
  ["face.onnx.gz", "gzip; unpack it"],
  ["lfs.mlmodel", 'a Git LFS pointer; run "git lfs pull" to get the model itself'],
])("%s, which no driver recognises by its name, says what to do next", async (name, expected) => {
  const contents = Object.entries(FILES).map(([file, text]) => [file, Buffer.from(text, "latin1")]);
  const folder = tempFolder(Object.fromEntries(contents));
  const message = `No driver recognises ${join(folder, name)} by its name. It looks like ${expected}.`;
  await expect(detectDriver(join(folder, name))).rejects.toThrow(message.replace("FOLDER", folder));
});

test.each(["alone.bin", "weights.dat"])("%s has no such hint, and the drivers are listed", async (name) => {
  const folder = tempFolder({ "alone.bin": "", "weights.dat": "" });
  await expect(detectDriver(join(folder, name))).rejects.toThrow(/\(catboost, .*, xgboost\)\.$/);
});

test.each([
  ["a checkpoint of TensorFlow", { checkpoint: "", "model.ckpt-1.index": "" }, "a checkpoint: weights without a model"],
  ["a model of Hugging Face", { "config.json": "{}", "model.safetensors": "" }, "add --driver transformers"],
  ["weights of TensorFlow.js", { "net-weights_manifest.json": "[]" }, "without their model.json"],
])("a folder with %s alone says so", async (_what, files, expected) => {
  const folder = tempFolder(files as Record<string, string>);
  await expect(listModels(folder)).rejects.toThrow(expected);
  await expect(listVersions(folder)).rejects.toThrow(expected);
});

test("a folder of Core ML's says so, from its inner folder too", async () => {
  const folder = tempFolder({ "com.apple.CoreML/model.mlmodel": "" });
  await expect(listVersions(folder)).rejects.toThrow("It looks like a Core ML model, which no driver runs");
});
