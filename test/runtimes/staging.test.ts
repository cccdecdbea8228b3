import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stageFolder, stagingName } from "../../src/runtimes/staging.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

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
