import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findKserveModels, type KserveWishes } from "../../../src/cli/foreign/kserve.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const ONNX = readFileSync("test/fixtures/models/half-plus-two.onnx");
const XGBOOST_JSON = '{"learner":{"attributes":{}}}';
const TREES = "tree\nversion=v4\n";

function find(files: Readonly<Record<string, string | Uint8Array>>, wishes: Partial<KserveWishes> = {}) {
  const folder = tempFolder(files);
  const all = { name: "m", wantsProbabilities: false, ownOptions: [], ...wishes };
  return findKserveModels(folder, all).then(({ models }) => ({ folder, models }));
}

test.each([
  ["model.onnx", ONNX, {}],
  ["model.xml", "<net/>", {}],
  ["saved_model.pb", "", {}],
  ["model.joblib", "", { allow_pickle: "true", outputs: "predict" }],
  ["model.bst", "binf", { allow_pickle: "true" }],
  ["model.bst", TREES, { allow_pickle: "true" }],
  ["model.json", XGBOOST_JSON, { allow_pickle: "true" }],
  ["1/model.onnx", ONNX, {}],
  ["0002/saved_model.pb", "", {}],
])("a folder with %s is the model that the command line names", async (file, content, options) => {
  const { folder, models } = await find({ [file]: content });
  expect(models).toMatchObject([{ name: "m", path: folder, options }]);
  expect(models[0]?.options).toEqual(options);
});

test("a file beside the model that describes it for another server disturbs nothing", async () => {
  const { models } = await find({ "model.onnx": ONNX, "model-settings.json": '{"name": "x"}', "README.md": "" });
  expect(models).toMatchObject([{ name: "m" }]);
});

test("folders of models are served under their own names, as KServe's servers do where the folder has no model", async () => {
  const { folder, models } = await find({ "one/model.onnx": ONNX, "two/1/model.onnx": ONNX });
  expect(models).toMatchObject([
    { name: "one", path: join(folder, "one") },
    { name: "two", path: join(folder, "two") },
  ]);
});

test("a folder of Triton's keeps its description, under the name that is asked for", async () => {
  const config = 'name: "own" backend: "onnxruntime" parameters: { key: "threads" value: { string_value: "1" } }';
  const { models } = await find({ "config.pbtxt": config, "1/model.onnx": ONNX });
  expect(models).toMatchObject([{ name: "m", driver: "onnx" }]);
  expect(models[0]).not.toHaveProperty("refusal");
});

test("probabilities in place of classes, and options that the user gives, count", async () => {
  const files = { "model.pkl": "" };
  const probabilities = await find(files, { wantsProbabilities: true });
  expect(probabilities.models[0]?.options).toEqual({ allow_pickle: "true", outputs: "predict_proba" });
  const { models } = await find(files, { ownOptions: ["outputs", "allow_pickle"] });
  expect(models[0]?.options).toEqual({});
});

test("hooks and a driver go to the model, and an address is not looked at", async () => {
  const { models } = await find({ "model.onnx": ONNX }, { hooks: "/h/hooks.ts", driver: "onnx" });
  expect(models).toMatchObject([{ hooks: "/h/hooks.ts", driver: "onnx" }]);
  const wishes = { name: "m", wantsProbabilities: false, ownOptions: [] };
  const remote = await findKserveModels("s3://bucket/model", wishes);
  expect(remote.models).toMatchObject([{ name: "m", path: "s3://bucket/model" }]);
});

test("several models in one folder, and none, are refused with what is there", async () => {
  await expect(find({ "a.onnx": ONNX, "b.onnx": ONNX })).rejects.toMatchObject({
    message: expect.stringContaining("has several models"),
    cause: { message: "It holds a.onnx, b.onnx." },
  });
  await expect(find({ "notes.md": "" })).rejects.toThrow(/has no model/);
});
