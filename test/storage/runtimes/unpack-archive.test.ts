import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { unpackArchive } from "../../../src/storage/runtimes/unpack-archive.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { makeWheel, type WheelOptions } from "./make-wheel.ts";
import { makeZip } from "./make-zip.ts";
import { recordingReporter, TOY_FILES, toy } from "./toy-runtime.ts";

async function unpack(bytes: Uint8Array, signal = new AbortController().signal) {
  const folder = tempFolder();
  const path = join(tempFolder(), "toy.whl");
  await writeFile(path, bytes);
  return { folder, unpacked: await unpackArchive(path, toy, { folder, signal, reporter: recordingReporter() }) };
}

const wheel = (options: WheelOptions = {}) => makeWheel(TOY_FILES, options).bytes;

test("writes what the runtime needs of a wheel, under base names, and says which version it is", async () => {
  const { folder, unpacked } = await unpack(wheel());
  expect((await readdir(folder)).sort()).toEqual(["libtoy.so", "libtoy_core.so"]);
  expect(await readFile(join(folder, "libtoy_core.so"), "utf8")).toBe(TOY_FILES["toy/libs/libtoy_core.so"]);
  expect(unpacked.version).toBe("1.2.3");
  expect(unpacked.files["libtoy.so"]).toEqual({
    bytes: 15,
    sha256: "e13ef9f032a1abbe21398c75cc5b8a29b93b00cc7696cee6ed966ee8ad80da5f",
  });
});

test("takes a jar, which has no RECORD and does not say the version", async () => {
  const { folder, unpacked } = await unpack(makeZip({ "org/toy/libtoy.so": "a", "org/toy/libtoy_core.so": "b" }));
  expect((await readdir(folder)).sort()).toEqual(["libtoy.so", "libtoy_core.so"]);
  expect(unpacked.version).toBeUndefined();
});

test("a file's name cannot lead out of the folder", async () => {
  const files = { "../../../libtoy.so": "a", "/etc/libtoy_core.so": "b" };
  const { folder } = await unpack(makeWheel(files).bytes);
  expect((await readdir(folder)).sort()).toEqual(["libtoy.so", "libtoy_core.so"]);
});

test.each([
  [
    "another hash in RECORD",
    wheel({ record: { "toy/libtoy.so": "toy/libtoy.so,sha256=AAAA,15" } }),
    "toy/libtoy.so in it is damaged",
  ],
  ["no hash in RECORD", wheel({ record: { "toy/libtoy.so": "toy/libtoy.so,," } }), "toy/libtoy.so in it is damaged"],
  ["another checksum", wheel({ lie: { crc32: 1 } }), "is damaged"],
  ["more bytes than it says", wheel({ lie: { bytes: 3 } }), "is damaged"],
  ["less bytes than it says", wheel({ lie: { bytes: 1_000_000 } }), "is damaged"],
  [
    "one library missing",
    makeWheel({ "toy/libtoy.so": "a" }).bytes,
    "does not have the libraries of Toy that are needed",
  ],
  ["a text file", Buffer.from("hello".repeat(100)), "not a zip archive"],
])("refuses a wheel with %s, and names the file", async (_, bytes, message) => {
  await expect(unpack(bytes)).rejects.toThrow(message);
  await expect(unpack(bytes)).rejects.toThrow("toy.whl");
});

test("names a wheel that is not there", async () => {
  const options = { folder: tempFolder(), signal: new AbortController().signal, reporter: recordingReporter() };
  await expect(unpackArchive("nowhere.whl", toy, options)).rejects.toThrow("nowhere.whl: there is no such file.");
});

test("stops when it is aborted", async () => {
  await expect(unpack(wheel(), AbortSignal.abort())).rejects.toThrow("aborted");
});
