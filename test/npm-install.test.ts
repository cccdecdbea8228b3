import { join } from "node:path";
import { expect, test } from "vitest";
import { npmInstall } from "../src/npm-install.ts";
import { tempFolder } from "./helpers/temp-folder.ts";

const FILES = { "lib/node_modules/kserving/package.json": "{}", "project/node_modules/kserving/package.json": "{}" };

test("installs globally beside a global kserving, and in the project beside any other", () => {
  const folder = tempFolder({ ...FILES, "project/package.json": "{}" });
  expect(npmInstall("a b", join(folder, "lib/node_modules/kserving"))).toBe("npm install -g a b");
  expect(npmInstall("a b", join(folder, "project/node_modules/kserving"))).toBe("npm install a b");
  expect(npmInstall("a b")).toBe("npm install a b");
});
