import { join } from "node:path";
import { expect, test } from "vitest";
import { detectDriver } from "../../../src/drivers/registry.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

test.each([
  ["model.bst", "binf\0\0", "xgboost"],
  ["model.bst", "{L\0\0\0\0\0\0\0\x07learner{", "xgboost"],
  ["model.bst", "tree\nversion=v4\n", "lightgbm"],
  ["model.txt", "tree\nversion=v4\n", "lightgbm"],
  ["model.json", '{ "learner": {} }', "xgboost"],
  ["model.json", '{"format":"layers-model"}', "tensorflow"],
  ["model.bst", "", "xgboost"],
  ["xgboost-model", "\x80\x04", "xgboost"],
])("a file %s that begins with %j is a model of %s", async (name, content, driver) => {
  const folder = tempFolder({ [name]: content });
  expect((await detectDriver(join(folder, name))).driver.name).toBe(driver);
});

test.each([
  ["notes.txt", "tree of life"],
  ["settings.json", '{"learners": 1}'],
])("a file %s that begins with %j is no model", async (name, content) => {
  const folder = tempFolder({ [name]: content });
  await expect(detectDriver(join(folder, name))).rejects.toThrow("No driver recognises");
});
