import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeRuntime } from "../../src/runtimes/remove-runtime.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const MANIFEST = JSON.stringify({ source: "toy.whl", files: {} });
const remove = (root: string, version?: string) => removeRuntime({ name: "toy", version, root });

test("removes the only version without its being named", async () => {
  const root = tempFolder({ "toy/1.0/runtime.json": MANIFEST, "toy/1.0/libtoy.so": "" });
  expect(await remove(root)).toMatchObject({ version: "1.0" });
  expect(await readdir(join(root, "toy"))).toEqual([]);
});

test("of several it removes the one that is named, and no other", async () => {
  const root = tempFolder({ "toy/1.0/runtime.json": MANIFEST, "toy/2.0/runtime.json": MANIFEST });
  await expect(remove(root)).rejects.toThrow("There are several versions of toy: 2.0, 1.0. Say which one");
  await expect(remove(root, "3.0")).rejects.toThrow("toy 3.0 is not installed");
  await remove(root, "1.0");
  expect(await readdir(join(root, "toy"))).toEqual(["2.0"]);
});

test("leaves the libraries of a registered folder where they are", async () => {
  const libraries = tempFolder({ "libtoy.so": "" });
  const root = tempFolder({
    "toy/1.0/runtime.json": JSON.stringify({ source: libraries, folder: libraries, files: {} }),
  });
  await remove(root);
  expect(existsSync(join(libraries, "libtoy.so"))).toBe(true);
});

test("says that there is none", async () => {
  const root = tempFolder();
  await expect(remove(root)).rejects.toThrow(`No toy is installed in ${root}.`);
});
