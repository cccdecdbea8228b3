import { describe, expect, it } from "vitest";
import { findModelSource, looksLikeModel } from "../../../src/drivers/tensorflow/model-source.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const SAVED_MODEL = { "saved_model.pb": "\x08\x01\x12" };
const GRAPH_MODEL = JSON.stringify({ format: "graph-model", modelTopology: { node: [] } });

describe("the model at a path", () => {
  it.each([
    ["a SavedModel's folder", SAVED_MODEL, "", "saved-model", ""],
    ["its saved_model.pb", SAVED_MODEL, "saved_model.pb", "saved-model", ""],
    ["a SavedModel as text", { "saved_model.pbtxt": "meta_graphs {" }, "", "saved-model", ""],
    ["a frozen graph", { "frozen.pb": "\x0a\x05\x0a\x01x\x12\x00" }, "frozen.pb", "frozen-graph", "frozen.pb"],
    ["a TensorFlow.js graph", { "model.json": GRAPH_MODEL }, "model.json", "tfjs-graph", "model.json"],
    ["the folder of one", { "model.json": GRAPH_MODEL }, "", "tfjs-graph", "model.json"],
    [
      "TensorFlow.js layers",
      { "model.json": '{"modelTopology":{"model_config":{}}}' },
      "model.json",
      "tfjs-layers",
      "model.json",
    ],
    ["TFLite", { "net.tflite": "\x1c\0\0\0TFL3\0" }, "net.tflite", "tflite", "net.tflite"],
    ["HDF5", { "net.h5": Buffer.from("\x89HDF\r\n", "latin1") }, "net.h5", "h5", "net.h5"],
    ["Keras", { "net.keras": "PK\x03\x04" }, "net.keras", "keras", "net.keras"],
  ])("is recognised: %s", (_what, files, path, format, found) => {
    const folder = tempFolder(files as Record<string, string>);
    const full = (name: string) => (name === "" ? folder : `${folder}/${name}`);
    expect(findModelSource(full(path))).toEqual({ format, path: full(found) });
  });

  it.each([
    ["nothing", {}, "none", /^No model at ".*none"; expected a SavedModel's folder, /],
    ["an empty file", { "m.pb": "" }, "m.pb", /m\.pb" is empty/],
    ["a folder with nothing of use", { "notes.txt": "" }, "", /has no saved_model\.pb and no model\.json/],
    [
      "a folder of versions",
      { "1/saved_model.pb": "x", "2/saved_model.pb": "x" },
      "",
      /has no saved_model\.pb/,
      "1, 2: give the folder of one",
    ],
    [
      "a folder of files",
      { "a.tflite": "x", "b.pb": "x" },
      "",
      /no model\.json/,
      "a.tflite, b.pb: give the file itself",
    ],
    ["a Git LFS pointer", { "m.pb": "version https://git-lfs.github.com" }, "m.pb", /run "git lfs pull"/],
    ["a zip archive", { "m.zip": "PK\x03\x04" }, "m.zip", /it looks like a zip archive/],
    ["an ONNX model", { "m.pb": "\x08\x07\x12\x00" }, "m.pb", /it looks like an ONNX model/],
    ["a web page", { "m.h5": "<!doctype html>" }, "m.h5", /the download probably failed/],
    ["JSON of something else", { "model.json": '{"a":1}' }, "model.json", /it has no modelTopology/],
    [
      "JSON that is cut short",
      { "model.json": '{"modelTopology":' },
      "model.json",
      /is not valid JSON, or is cut short/,
    ],
    ["anything else", { "m.bin": "\x01\x02" }, "m.bin", /^".*m\.bin" is not a TensorFlow model\. Expected /],
  ])("is refused with what was found: %s", (_what, files, path, message, held?: string) => {
    const folder = tempFolder(files as Record<string, string>);
    expect(() => findModelSource(path === "" ? folder : `${folder}/${path}`)).toThrow(
      expect.objectContaining({
        code: "failed_precondition",
        message: expect.stringMatching(message),
        // Who started the program is told, and clients are not.
        ...(held !== undefined && { cause: new Error(`It holds ${held}.`) }),
      }),
    );
  });

  it("is recognised by names alone where no driver is given", () => {
    const folder = tempFolder(SAVED_MODEL);
    for (const path of [folder, "a/frozen.pb", "model.json", "x.tflite", "x.h5", "x.keras"])
      expect(looksLikeModel(path), path).toBe(true);
    for (const path of [tempFolder(), "notes.json", "x.onnx"]) expect(looksLikeModel(path), path).toBe(false);
  });
});
