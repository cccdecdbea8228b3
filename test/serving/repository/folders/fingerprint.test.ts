import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { fingerprintOf } from "../../../../src/serving/repository/folders/fingerprint.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";

const AT = new Date("2026-01-01");

test.each<[string, (folder: string) => void]>([
  ["has another size", (folder) => writeFileSync(join(folder, "deep/a"), "longer")],
  ["has another time", (folder) => utimesSync(join(folder, "deep/a"), AT, AT)],
  ["comes", (folder) => writeFileSync(join(folder, "deep/b"), "")],
  ["goes", (folder) => rmSync(join(folder, "deep/a"))],
  [
    "is replaced by one of the same size and time",
    (folder) => {
      writeFileSync(join(folder, "new"), "abc");
      utimesSync(join(folder, "new"), new Date("2020-01-01"), new Date("2020-01-01"));
      renameSync(join(folder, "new"), join(folder, "deep/a"));
    },
  ],
  [
    "has other content of the same size and time",
    (folder) => {
      writeFileSync(join(folder, "deep/a"), "xyz");
      utimesSync(join(folder, "deep/a"), new Date("2020-01-01"), new Date("2020-01-01"));
    },
  ],
])("a fingerprint changes where a file %s", async (_, change) => {
  const folder = tempFolder({ "deep/a": "abc" });
  utimesSync(join(folder, "deep/a"), new Date("2020-01-01"), new Date("2020-01-01"));
  const { text } = await fingerprintOf(folder);
  expect((await fingerprintOf(folder)).text).toBe(text);
  // Times of disks are as coarse as the system's clock.
  await delay(20);
  change(folder);
  expect((await fingerprintOf(folder)).text).not.toBe(text);
});

test("a copy that keeps times is as new as it is", async () => {
  const folder = tempFolder({ a: "" });
  utimesSync(join(folder, "a"), new Date("2020-01-01"), new Date("2020-01-01"));
  expect((await fingerprintOf(folder)).changedMs).toBeGreaterThan(Date.now() - 60_000);
});

test("the weights next to a file belong to it", async () => {
  const folder = tempFolder({ "face.xml": "", "face.bin": "1", "other.bin": "" });
  const { text, files } = await fingerprintOf(join(folder, "face.xml"));
  expect(files).toBe(2);
  writeFileSync(join(folder, "face.bin"), "12");
  expect((await fingerprintOf(join(folder, "face.xml"))).text).not.toBe(text);
});

test("folders that lead back to themselves end", async () => {
  const folder = tempFolder({ "a/b": "" });
  symlinkSync(folder, join(folder, "a/loop"));
  symlinkSync("nowhere", join(folder, "a/dangling"));
  expect((await fingerprintOf(folder)).files).toBe(2);
});

test("a folder without files, or that is gone, has none that count", async () => {
  const folder = tempFolder();
  mkdirSync(join(folder, "empty"));
  expect((await fingerprintOf(join(folder, "empty"))).files).toBe(0);
  const gone = await fingerprintOf(join(folder, "gone"));
  expect(gone.changedMs).toBe(0);
});

test("the size of a file is that of its weights too, and not of other models whose names begin alike", async () => {
  const own = { "m.onnx": "1", "m.onnx_data": "22", "m.bin": "333" };
  const folder = tempFolder({ ...own, "m.jit": "4444", "m_int8.onnx": "4444", "m_int8.onnx_data": "4444" });
  expect(await fingerprintOf(join(folder, "m.onnx"))).toMatchObject({ files: 6, bytes: 6 });
  expect(await fingerprintOf(join(folder, "m_int8.onnx"))).toMatchObject({ bytes: 8 });
});
