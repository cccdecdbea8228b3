import { join } from "node:path";
import { expect, test } from "vitest";
import { loadVersion } from "../../../src/serving/repository/load-version.ts";
import { loadOptions } from "../../helpers/load-options.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

test("a version whose folder is gone is not loaded without its hooks", async () => {
  const path = tempFolder();
  const found = { version: 1n, path: join(path, "1") };
  const config = { name: "m", path, driver: "null", labels: new Map(), versions: "all" } as never;
  const loading = loadVersion({ config, found, signal: new AbortController().signal }, loadOptions());
  await expect(loading).rejects.toThrow(/The version ".*1" .*; expected its files\./);
});
