import { expect, test } from "vitest";
import { defineDriver } from "../../src/drivers/driver.ts";
import { lfsPointers } from "../../src/drivers/file-kind.ts";
import { failedPrecondition } from "../../src/errors.ts";
import { loadHostedModel } from "../../src/models/load-hosted-model.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";

test("are found in a model's folder and the folders there", () => {
  const files = { "saved_model.pb": "x", "variables/variables.index": POINTER, "assets/words.txt": "version 1" };
  expect(lfsPointers(tempFolder(files), "")).toEqual(["variables/variables.index"]);
});

test("are found beside a model's file where an error names them", () => {
  const folder = tempFolder({ "net.onnx": "x", "net.data": POINTER, "other.data": POINTER });
  expect(lfsPointers(`${folder}/net.onnx`, "net.data is too short")).toEqual(["net.data"]);
  expect(lfsPointers(`${folder}/none/net.onnx`, "net.data is too short")).toEqual([]);
});

test("in the place of a model's weights are told by the error of its load", async () => {
  const path = `${tempFolder({ "net.onnx": "x", "net.data": POINTER })}/net.onnx`;
  const load = async () => {
    throw failedPrecondition("The data of net.data are cut short.");
  };
  const driver = defineDriver({ name: "short", options: {}, load });
  const loading = loadHostedModel({ driver, path, options: {}, threads: 1 }, createSilentLogger());
  const advice = 'Git LFS pointers are in the place of net.data; run "git lfs pull" to get the files themselves.';
  await expect(loading).rejects.toMatchObject({
    code: "failed_precondition",
    message: `The data of net.data are cut short. ${advice}`,
  });
});
