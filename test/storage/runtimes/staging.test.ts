import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeRuntime, stageFolder, stagingName } from "../../../src/storage/runtimes/staging.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const writing = (text: string) => async (folder: string, scratch: string) => {
  await writeFile(join(folder, "file"), text);
  await writeFile(join(scratch, "download"), text);
  return "1.0";
};

async function contents(parent: string): Promise<Record<string, string>> {
  const names = await readdir(parent);
  const texts = names.map(async (name) => [name, await readFile(join(parent, name, "file"), "utf8")]);
  return Object.fromEntries(await Promise.all(texts));
}

test("makes the folder and its parents, and leaves nothing else", async () => {
  const parent = join(tempFolder(), "a", "b");
  expect(await stageFolder({ parent, fill: writing("new"), replace: false })).toBe(true);
  expect(await contents(parent)).toEqual({ "1.0": "new" });
});

test("keeps a folder that is there, or replaces it", async () => {
  const parent = tempFolder({ "1.0/file": "old" });
  expect(await stageFolder({ parent, fill: writing("new"), replace: false })).toBe(false);
  expect(await contents(parent)).toEqual({ "1.0": "old" });
  expect(await stageFolder({ parent, fill: writing("new"), replace: true })).toBe(true);
  expect(await contents(parent)).toEqual({ "1.0": "new" });
});

test("leaves nothing when filling fails, and what was there before", async () => {
  const parent = tempFolder({ "1.0/file": "old" });
  const fill = async (folder: string) => {
    await writeFile(join(folder, "file"), "half");
    throw new Error("no more");
  };
  await expect(stageFolder({ parent, fill, replace: true })).rejects.toThrow("no more");
  expect(await contents(parent)).toEqual({ "1.0": "old" });
});

test("of several at the same time one wins", async () => {
  const parent = tempFolder();
  const texts = ["a", "b", "c", "d"];
  const won = await Promise.all(texts.map((text) => stageFolder({ parent, fill: writing(text), replace: false })));
  expect(won.filter((isNew) => isNew)).toHaveLength(1);
  expect(await contents(parent)).toEqual({ "1.0": texts[won.indexOf(true)] });
});

test("deletes what a killed process left, and nothing of a live one", async () => {
  const parent = tempFolder();
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  const left = join(parent, stagingName().replace(`+${process.pid}+`, `+${pid}+`));
  const live = join(parent, stagingName());
  const foreign = join(parent, `.another-machine+${pid}+0`);
  for (const folder of [left, live, foreign]) await mkdir(folder);
  await stageFolder({ parent, fill: writing("new"), replace: false });
  expect([left, live, foreign].map((folder) => existsSync(folder))).toEqual([false, true, true]);
});

test("says what to do where the folder cannot be made", async () => {
  const parent = join(tempFolder({ file: "" }), "file", "toy");
  await expect(stageFolder({ parent, fill: writing("new"), replace: false })).rejects.toThrow(
    "cannot be written: a part of the path is a file. Choose another with --dir DIR or KSERVING_RUNTIMES_DIR.",
  );
});

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
