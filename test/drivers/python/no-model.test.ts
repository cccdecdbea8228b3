import { expect, test } from "vitest";
import { parseOptions } from "../../../src/drivers/option-table.ts";
import { findDriver } from "../../../src/drivers/registry.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

// No interpreter is looked for: the options name one that is not there.
const PYTHON = "/no/python";

test.each([
  ["sklearn", "model.joblib", "", 'model.joblib" is empty; expected a .joblib or .pkl file.'],
  [
    "sklearn",
    "model.joblib",
    "version https://git-lfs.github.com/spec/v1",
    'it looks like a Git LFS pointer; run "git',
  ],
  ["pytorch", "model.pt", "<!doctype html><html></html>", "it looks like a web page; the download probably failed."],
  ["xgboost", "model.ubj", "Salted__123", "it looks like an encrypted file; decrypt it."],
])("the %s driver says before it starts Python what %s is, if it is %j", async (name, file, content, message) => {
  const { driver } = await findDriver(name);
  const path = `${tempFolder({ [file]: content })}/${file}`;
  const host = { log: createSilentLogger(), threads: 1 };
  const loading = driver.load(path, parseOptions(driver.options, { python: PYTHON }), host);
  await expect(loading).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringContaining(message),
  });
});
