import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { ZipArchive } from "../../src/archives/zip-archive.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { makeZip } from "../runtimes/make-zip.ts";

const FILES = { "a/empty": "", "a/b.txt": "text", "c.bin": "0123456789".repeat(100_000) };

function zipFile(bytes: Uint8Array): string {
  return join(tempFolder({ "x.zip": bytes }), "x.zip");
}

async function open(bytes: Uint8Array): Promise<ZipArchive> {
  const archive = await ZipArchive.open(zipFile(bytes));
  onTestFinished(() => archive.close());
  return archive;
}

test.each([
  ["packed", {}],
  ["stored", { stored: true }],
  ["with a comment that holds an end record", { comment: `PK\x05\x06${"x".repeat(40)}` }],
])("reads an archive whose files are %s", async (_, options) => {
  const archive = await open(makeZip(FILES, options));
  const read = archive.entries.map(async (entry) => [entry.name, await text(await archive.read(entry))]);
  expect(Object.fromEntries(await Promise.all(read))).toEqual(FILES);
});

test.each([
  ["no archive at all", Buffer.from("not a zip file, but long enough to look for the end of one"), "not a zip archive"],
  ["an empty file", Buffer.alloc(0), "not a zip archive"],
  ["an archive that is cut at its end", makeZip(FILES).subarray(0, -30), "not a zip archive"],
  ["an archive that is cut at its beginning", makeZip(FILES).subarray(500), "not a zip archive"],
  ["an encrypted one", makeZip(FILES, { lie: { flags: 1 } }), "is encrypted"],
  ["one that is packed by another method", makeZip(FILES, { lie: { method: 14 } }), "packed by method 14"],
])("refuses %s", async (_, bytes, message) => {
  await expect(ZipArchive.open(zipFile(bytes))).rejects.toThrow(message);
});

test("refuses ZIP64, where the end record gives the directory's place elsewhere", async () => {
  const bytes = makeZip(FILES);
  bytes.writeUInt32LE(0xffffffff, bytes.length - 6);
  await expect(ZipArchive.open(zipFile(bytes))).rejects.toThrow("ZIP64");
});

test("refuses a directory that lies outside the file", async () => {
  const bytes = makeZip(FILES);
  bytes.writeUInt32LE(0xfffffff0, bytes.length - 10);
  await expect(ZipArchive.open(zipFile(bytes))).rejects.toThrow("damaged");
});

test("an entry that is longer than it says fails as it is read", async () => {
  const archive = await open(makeZip({ a: "0".repeat(1e6) }, { lie: { bytes: 1000 } }));
  await expect(text(await archive.read(archive.entries[0]!))).rejects.toThrow("damaged");
});

test("an entry whose packed bytes are damaged fails as it is read", async () => {
  const bytes = makeZip(FILES);
  bytes.fill(0xff, bytes.indexOf("c.bin") + 10, bytes.indexOf("c.bin") + 60);
  const archive = await open(bytes);
  await expect(text(await archive.read(archive.entries[2]!))).rejects.toMatchObject({ code: "data_loss" });
});
