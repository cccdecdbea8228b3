import { join } from "node:path";
import { expect, test } from "vitest";
import { detectDriver } from "../../src/drivers/registry.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const GRAPH = '{\n  "format": "graph-model", "weightsManifest": [] }';

test.each([
  ["emotion.json", "looks like a TensorFlow.js model: add --driver tensorflow"],
  ["emotion.bin", "looks like the weights of FOLDER/emotion.json; expected that file"],
  ["face.bin", "looks like the weights of FOLDER/face.xml; expected that file"],
])("%s, which no driver recognises by its name, says what to do next", async (name, expected) => {
  const files = { "emotion.json": GRAPH, "emotion.bin": "", "face.bin": "", "face.xml": "" };
  const folder = tempFolder(files);
  await expect(detectDriver(join(folder, name))).rejects.toThrow(expected.replace("FOLDER", folder));
});

test.each(["settings.json", "alone.bin", "weights.dat"])("%s has no such hint", async (name) => {
  const folder = tempFolder({ "settings.json": '{"a": 1}', "alone.bin": "", "weights.dat": "" });
  await expect(detectDriver(join(folder, name))).rejects.toThrow(/\(catboost, .*, xgboost\)\.$/);
});
