import { symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { toErrorText } from "../../src/cli/error-text.ts";
import { describeFileKind, describeNoModel, meantFile } from "../../src/drivers/file-kind.ts";
import { listVersions } from "../../src/serving/repository/folders/list-versions.ts";
import { inspectFile } from "../../src/tools/inspection/inspect-file.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
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
  [
    '\x40\0\0\0\0\0\0\0{"w": {}}',
    "a safetensors file: weights without a model; of transformers' models give the folder",
  ],
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

type At = (folder: string) => string;

test.each<[string, path: At, meant: At]>([
  ["absolute", (at) => `${at}/nett.onnx`, (at) => `${at}/net.onnx`],
  ["relative", (at) => relative(".", `${at}/nett.onnx`), (at) => relative(".", `${at}/net.onnx`)],
  ["of a folder, with a slash at its end", (at) => `${at}/halff/`, (at) => `${at}/half`],
  ["of a model in a folder", (at) => `${at}/half/1/modle.onnx`, (at) => `${at}/half/1/model.onnx`],
  ["of Windows", (at) => `${at}\\half\\1`, (at) => `${at}/half/1`],
  ["of Windows, and wrong", (at) => `${at}\\nett.onnx`, (at) => `${at}/net.onnx`],
  ["with ~, for which no shell has put the folder", () => "~/.", () => `${homedir()}/.`],
])("a wrong path that is %s is answered with the nearest one", async (_, path, meant) => {
  const folder = tempFolder({ "half/1/model.onnx": "x", "net.onnx": "x" });
  const expected = ` Did you mean "${meant(folder)}"?`;
  expect(meantFile(path(folder))).toBe(expected);
  for (const look of [listVersions, inspectFile]) {
    const reason = await look(path(folder)).catch((error) => error);
    // What a scan says is a client's to read.
    expect(reason.message).not.toContain("Did you mean");
    expect(toErrorText(reason, { causes: false, excerpt: false })).toContain(expected);
  }
});

test.each<[string, path: At]>([
  ["there is nothing like it", (at) => `${at}/other.pb`],
  ["its folder is not there", (at) => `${at}/no/net.onnx`],
  ["it is there", (at) => `${at}/net.onnx`],
])("no other path is meant where %s", (_, path) => {
  expect(meantFile(path(tempFolder({ "net.onnx": "x" })))).toBe("");
});

test("a link that leads nowhere is not what is meant by its own path", () => {
  const folder = tempFolder({});
  symlinkSync("gone.onnx", join(folder, "net.onnx"));
  expect(meantFile(join(folder, "net.onnx"))).toBe("");
});
