import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { npmInstall } from "../src/npm-install.ts";
import { tempFolder } from "./helpers/temp-folder.ts";

const KSERVING = "node_modules/kserving";
const FILES = {
  [`global/lib/${KSERVING}/package.json`]: "{}",
  [`project/${KSERVING}/package.json`]: "{}",
  "project/package.json": "{}",
  [`a folder/${KSERVING}/package.json`]: "{}",
  "a folder/package.json": "{}",
};

test("installs globally beside a global kserving, also where npm would put it elsewhere", () => {
  const usual = join(dirname(dirname(process.execPath)), "lib", KSERVING);
  expect(npmInstall("a b", usual)).toBe("npm install -g a b");
  const other = join(tempFolder(FILES), "global");
  expect(npmInstall("a b", join(other, "lib", KSERVING))).toBe(`npm install -g --prefix ${other} a b`);
});

test("installs in the project that has kserving, wherever the user stands", () => {
  const folder = tempFolder(FILES);
  const project = join(folder, "project");
  expect(npmInstall("a b", join(project, KSERVING), project)).toBe("npm install a b");
  expect(npmInstall("a b", join(project, KSERVING), "/")).toBe(`npm install --prefix ${project} a b`);
  const spaced = join(folder, "a folder");
  expect(npmInstall("a", join(spaced, KSERVING), "/")).toBe(`npm install --prefix '${spaced}' a`);
  expect(npmInstall("a b")).toBe("npm install a b");
});
