import { expect, test } from "vitest";
import { describeFileKind, describeNoModel } from "../../src/drivers/file-kind.ts";
import { makeZip } from "../storage/runtimes/make-zip.ts";

const POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
const zip = (name: string) => makeZip({ [name]: "x" }).toString("latin1");

test.each([
  [POINTER, 'a Git LFS pointer; run "git lfs pull"'],
  ["<!DOCTYPE html><html>Not found</html>", "a web page; the download probably failed"],
  ["Salted__\x12\x34", "an encrypted file; decrypt it"],
  [zip("net/data.pkl"), "a PyTorch file; its driver is pytorch"],
  [zip("metadata.json"), "a Keras file; its driver is tensorflow"],
  [zip("w.npy"), "arrays of numpy"],
  [zip("model.onnx"), "a zip archive; unpack it"],
  ["\x1f\x8b\x08", "gzip; unpack it"],
  [`${"model.onnx".padEnd(257, "\0")}ustar`, "a tar archive; unpack it"],
  ["\x89HDF\r\n", "an HDF5 file, as Keras (.h5) writes; its driver is tensorflow"],
  ["\x80\x04\x95", "a Python pickle, as scikit-learn writes; its driver is sklearn"],
  ["\x1c\0\0\0TFL3", "a TensorFlow Lite model; its driver is tensorflow"],
  ["\x1c\0\0\0ORTM", "a model of ONNX Runtime's ORT format; its driver is onnx"],
  ['\x40\0\0\0\0\0\0\0{"w": {}}', "a safetensors file: weights without a model"],
  ["GGUF\x03\0\0\0", "a GGUF model, which no driver runs"],
  ["ftrt\0\0", "an engine of TensorRT; serve the ONNX model that it was built from"],
  ['{"learner":{}}', "an XGBoost model; its driver is xgboost"],
  ["tree\nversion=v4\n", "a LightGBM model; its driver is lightgbm"],
  ['{"format": "graph-model"}', "a TensorFlow.js model; its driver is tensorflow"],
  ['<?xml version="1.0"?>\n<net name="a" version="11">', "an OpenVINO model; its driver is openvino"],
  ['<?xml version="1.0"?><opencv_storage>', "XML; expected a model"],
  ["\x08\x07\x12\x00", "an ONNX model, or a SavedModel's saved_model.pb"],
  ["a,b\n1,2\n", "plain text"],
])("%j is recognised as %s", (head, kind) => {
  expect(describeFileKind(head)).toContain(kind);
});

test.each(["", "\xff\xfe\xfd", "\x0a\x04node"])("%j is of no known kind", (head) => {
  expect(describeFileKind(head)).toBeUndefined();
});

test("only what no framework reads is none of any", () => {
  expect(describeNoModel(POINTER)).toContain("Git LFS");
  expect(describeNoModel("a,b\n")).toBeUndefined();
});
