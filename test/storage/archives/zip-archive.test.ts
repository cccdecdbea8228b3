import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { ZipArchive } from "../../../src/storage/archives/zip-archive.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
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
  ["with fields and comments of each", { extra: "more" }],
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
])("refuses %s", async (_, bytes, message) => {
  await expect(ZipArchive.open(zipFile(bytes))).rejects.toThrow(message);
});

test.each([
  ["an encrypted one", { flags: 1 }, "it is encrypted, which is not read. Get it as its makers publish it."],
  ["one that is packed by another method", { method: 14 }, 'it holds "a/empty", packed by method 14, which is not'],
])("says that %s is not read", async (_, lie, message) => {
  await expect(ZipArchive.open(zipFile(makeZip(FILES, { lie })))).rejects.toMatchObject({
    ...{ code: "unimplemented", message: expect.stringContaining(message) },
  });
});

/** Places in the end record, which is the last of an archive without a comment. */
const [COUNT, BYTES, OFFSET] = [-12, -10, -6];

test.each([
  ["the number of files", COUNT, 0xffff],
  ["the directory's size", BYTES, 0xffffffff],
  ["the directory's place", OFFSET, 0xffffffff],
])("refuses ZIP64, where the end record gives %s elsewhere", async (_, place, value) => {
  const bytes = makeZip(FILES);
  if (place === COUNT) bytes.writeUInt16LE(value, bytes.length + place);
  else bytes.writeUInt32LE(value, bytes.length + place);
  await expect(ZipArchive.open(zipFile(bytes))).rejects.toThrow("ZIP64");
});

test.each([
  ["begins outside the file", OFFSET, 0xfffffff0],
  ["ends outside the file", OFFSET, makeZip(FILES).readUInt32LE(makeZip(FILES).length + OFFSET) + 23],
  ["ends before its last file does", BYTES, makeZip(FILES).readUInt32LE(makeZip(FILES).length + BYTES) - 1],
  ["goes on behind its last file", OFFSET, makeZip(FILES).readUInt32LE(makeZip(FILES).length + OFFSET) - 1],
])("refuses a directory that %s", async (_, place, value) => {
  const bytes = makeZip(FILES);
  bytes.writeUInt32LE(value, bytes.length + place);
  await expect(ZipArchive.open(zipFile(bytes))).rejects.toThrow("damaged");
});

test("refuses a directory whose last file's comment, or that of more files than it has, is not there", async () => {
  const bytes = makeZip(FILES);
  const longer = Buffer.from(bytes);
  longer.writeUInt16LE(1, bytes.lastIndexOf("PK\x01\x02") + 32);
  const more = Buffer.from(bytes);
  more.writeUInt16LE(4, bytes.length + COUNT);
  for (const lie of [longer, more]) await expect(ZipArchive.open(zipFile(lie))).rejects.toThrow("damaged");
});

/** Makes the record of a file with a name of two letters one of 64 KiB. */
const EXTRA = { extra: "x".repeat((64 * 1024 - 48) / 2) };

test("takes a directory of 32 MiB, and refuses one of a byte more, however sound it is", async () => {
  const names = Array.from({ length: 511 }, (_, index) => index.toString(36).padStart(2, "0"));
  const zipOf = (last: string) => makeZip(Object.fromEntries([...names, last].map((name) => [name, ""])), EXTRA);
  expect((await open(zipOf("zz"))).entries).toHaveLength(512);
  await expect(ZipArchive.open(zipFile(zipOf("zzz")))).rejects.toThrow("damaged");
});

test("an archive of no file has no entries, and zeros are no archive", async () => {
  expect((await open(makeZip({}))).entries).toEqual([]);
  await expect(ZipArchive.open(zipFile(Buffer.alloc(100)))).rejects.toThrow("not a zip archive");
});

test("an entry says whether it is a link", async () => {
  const isLink = async (mode: number) => (await open(makeZip({ a: "b" }, { mode }))).entries[0]?.isLink;
  expect([await isLink(0o120777), await isLink(0o100644), await isLink(0), await isLink(0o140777)]).toEqual([
    ...[true, false, false, false],
  ]);
});

test.each([
  ["shorter than it says", { bytes: 5 }, "differs from its checksum"],
  ["another one than its checksum says", { crc32: 1 }, "differs from its checksum"],
])("an entry that is %s fails as it is read", async (_, lie, message) => {
  for (const stored of [true, false]) {
    const archive = await open(makeZip({ a: "text" }, { lie, stored }));
    await expect(text(await archive.read(archive.entries[0]!))).rejects.toMatchObject({
      ...{ code: "data_loss", message: expect.stringContaining(message) },
    });
  }
});

test("an entry that lies beyond the file, or whose header is none or another file's, is refused", async () => {
  const read = async (change: (bytes: Buffer, record: number) => void) => {
    const bytes = makeZip({ a: "text", b: "more" });
    change(bytes, bytes.indexOf("PK\x01\x02"));
    const archive = await open(bytes);
    return text(await archive.read(archive.entries[0]!));
  };
  expect(await read(() => {})).toBe("text");
  await expect(read((bytes, record) => bytes.writeUInt32LE(bytes.length - 10, record + 42))).rejects.toThrow("damaged");
  await expect(read((bytes) => bytes.fill(0, 0, 4))).rejects.toThrow("damaged");
  const second = makeZip({ a: "text", b: "more" }).indexOf("PK\x03\x04", 4);
  await expect(read((bytes, record) => bytes.writeUInt32LE(second, record + 42))).rejects.toThrow("is damaged or cut");
});

test("an entry may have an empty name", async () => {
  const archive = await open(makeZip({ "": "text" }));
  expect(archive.entries.map(({ name }) => name)).toEqual([""]);
  expect(await text(await archive.read(archive.entries[0]!))).toBe("text");
});

test("an entry that is longer than it says fails as it is read", async () => {
  const archive = await open(makeZip({ a: "0".repeat(1e6) }, { lie: { bytes: 1000 } }));
  await expect(text(await archive.read(archive.entries[0]!))).rejects.toThrow("is damaged or cut");
});

test("an entry whose packed bytes are damaged fails as it is read", async () => {
  const bytes = makeZip(FILES);
  bytes.fill(0xff, bytes.indexOf("c.bin") + 10, bytes.indexOf("c.bin") + 60);
  const archive = await open(bytes);
  await expect(text(await archive.read(archive.entries[2]!))).rejects.toMatchObject({
    ...{ code: "data_loss", message: expect.stringContaining("is damaged or cut"), cause: { code: "Z_DATA_ERROR" } },
  });
});
