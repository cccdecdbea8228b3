import { randomBytes } from "node:crypto";
import { readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readTarball } from "../../../src/storage/archives/tar-archive.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { longName, makeTar, makeTarball, type ToyEntry } from "../runtimes/make-tarball.ts";

async function read(bytes: Uint8Array): Promise<Record<string, string>> {
  const path = join(tempFolder(), "a.tgz");
  writeFileSync(path, bytes);
  const files: Record<string, string> = {};
  for await (const entry of readTarball(path)) {
    const parts: Buffer[] = [];
    for await (const chunk of entry.chunks()) parts.push(chunk);
    files[entry.name] = Buffer.concat(parts).toString();
  }
  return files;
}

const LARGE = "x".repeat(300_000);
const ENTRIES: readonly ToyEntry[] = [
  { name: "package/", text: "", type: "5" },
  { name: "package/package.json", text: "{}" },
  { name: "package/empty.js", text: "" },
  { name: "package/link", text: "", type: "2" },
  longName(`package/${"deep/".repeat(40)}index.js`),
  { name: "cut", text: LARGE },
];

test("gives regular files with their bytes and long names, and passes over folders and links", async () => {
  expect(await read(makeTarball(ENTRIES))).toEqual({
    "package/package.json": "{}",
    "package/empty.js": "",
    [`package/${"deep/".repeat(40)}index.js`]: LARGE,
  });
});

test("gives the next file where the one before it is not read", async () => {
  const path = join(tempFolder(), "a.tgz");
  writeFileSync(path, makeTarball(ENTRIES));
  const names: string[] = [];
  for await (const { name } of readTarball(path)) names.push(name);
  expect(names).toHaveLength(3);
});

const NAME = "m/model.onnx";

/** GNU's old header of a sparse file, whose map goes on in a block that its size does not count. */
function oldSparse(): Buffer {
  const [header, body, end] = [
    makeTar([{ name: NAME, text: "hello", type: "S" }]),
    Buffer.alloc(512),
    Buffer.alloc(512),
  ];
  header.write("ustar  \0", 257, "latin1");
  header.write("14712345670", 345);
  header[482] = body[504] = 1;
  header.write("        ", 148);
  const sum = header.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return Buffer.concat([header.subarray(0, 512), body, end, header.subarray(512, 1024)]);
}

const paxSparse = makeTar([
  { name: "PaxHeader", type: "x", text: `11 mtime=1\n22 GNU.sparse.major=1\n32 GNU.sparse.name=${NAME}\n` },
  { name: "m/GNUSparseFile.1/model.onnx", text: "1\n0\n5\nhello" },
]).subarray(0, -1024);
const SPARSE = "sparse file (tar without --sparse packs it whole)";

test.each([
  ["a sparse file of GNU's own form", oldSparse(), SPARSE],
  ["a sparse file of the pax form", paxSparse, SPARSE],
  [
    "another type",
    makeTar([{ name: NAME, text: "hello", type: "M" }]).subarray(0, -1024),
    'file of the unknown type "M"',
  ],
])("tells of %s, and goes on after it", async (_, bytes, kind) => {
  const path = join(tempFolder(), "a.tar");
  writeFileSync(path, Buffer.concat([bytes, makeTar([{ name: "next", text: "", type: "7" }])]));
  const others: string[][] = [];
  const names: string[] = [];
  const onOther = (...other: [string, string]) => void others.push(other);
  for await (const { name } of readTarball(path, { isGzipped: false, onOther })) names.push(name);
  expect(others).toEqual([[NAME, kind]]);
  expect(names).toEqual(["next"]);
});

/** An extended header of records, each with its length. */
function pax(...records: readonly string[]): ToyEntry {
  const texts = records.map((record) => `${record.length + 4} ${record}\n`);
  return { name: "PaxHeader", type: "x", text: texts.join("") };
}

test("takes records of an extended header by their lengths, the last of a name", async () => {
  const inner = pax("comment=two\n13 path=evil\nlines", "path=first", "path=second/2", "size=05");
  expect(await read(makeTarball([inner, { name: "cut", text: "12345" }]))).toEqual({ "second/2": "12345" });
});

/** An archive whose last header is changed, with a right checksum. */
function withHeader(entries: readonly ToyEntry[], change: (header: Buffer) => void): Buffer {
  const bytes = makeTar(entries);
  const header = bytes.subarray(bytes.lastIndexOf("ustar") - 257).subarray(0, 512);
  change(header);
  header.write("        ", 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return gzipSync(bytes);
}

const ONE = [{ name: "a", text: "12345" }];
/** Changes the size in a header, as text. */
const sized = (text: string) => (header: Buffer) => void header.fill(0, 124, 136).write(text, 124, "latin1");
const withTimes = withHeader(ONE, (header) => {
  header.write("ustar  \0", 257, "latin1");
  header.write("14712345670", 345);
});

test.each<[string, Buffer, string]>([
  ["GNU's header", makeTarball([{ name: "././@LongLink", type: "L", text: "long/name\0" }, ...ONE]), "long/name"],
  ["the field before it", withHeader(ONE, (header) => void header.write("some/folder", 345)), "some/folder/a"],
  ["all of that field", withHeader(ONE, (header) => void header.write("p".repeat(155), 345)), `${"p".repeat(155)}/a`],
  ["the name alone where GNU has times in that field", withTimes, "a"],
  [
    "GNU's header before one that says nothing of names",
    makeTarball([{ name: "././@LongLink", type: "L", text: "long/name\0" }, pax("comment=x"), ...ONE]),
    "long/name",
  ],
])("takes a name from %s", async (_, bytes, name) => {
  expect(await read(bytes)).toEqual({ [name]: "12345" });
});

test.each([
  ["with spaces around it", withHeader(ONE, sized("         5 ")), true],
  ["in binary, as of 8 GB and more", withHeader(ONE, sized("\x80\0\0\0\0\0\0\0\0\0\0\x05")), true],
  ["in the extended header", withHeader([pax("comment=x", "size=05"), ...ONE], sized("00000000000")), true],
  ["in the header where the extended one has 4x", makeTarball([pax("size=4x"), ...ONE]), true],
  ["in the header where the extended one has -4", makeTarball([pax("size=-4"), ...ONE]), true],
  ["beyond what numbers have, in binary", withHeader(ONE, sized("\x80\0\0\0\0\x20\0\0\0\0\0\0")), false],
  ["that is no octal number", withHeader(ONE, sized("00000000009")), false],
  ["that begins otherwise", withHeader(ONE, sized("x0000000005")), false],
  ["that ends otherwise", withHeader(ONE, sized("0000000005x")), false],
])("takes or refuses a size %s", async (_, bytes, isTaken) => {
  if (isTaken) expect(await read(bytes)).toEqual({ a: "12345" });
  else await expect(read(bytes)).rejects.toMatchObject({ code: "data_loss" });
});

test("an extended header of a megabyte is taken, and no larger one", async () => {
  const of = (bytes: number) => {
    const text = `${bytes} comment=${"x".repeat(bytes - 17)}\n`;
    return read(makeTarball([{ name: "PaxHeader", type: "x", text }, ...ONE]));
  };
  expect(await of(1 << 20)).toEqual({ a: "12345" });
  await expect(of((1 << 20) + 1)).rejects.toMatchObject({ code: "data_loss" });
});

test.each([
  "4 a\n9 path=a\n",
  "4 a\n=",
  "9 path=a",
  "11 path=a\n",
  "8 path=a\n",
  "path=a\n",
  " path=a\n",
  "0x9 path=a\n",
  "9 path a\n",
  "9 path=a\nx",
  "-9 path=a\n",
  "9",
])("refuses the record %j of an extended header", async (text) => {
  const bytes = makeTarball([
    { name: "PaxHeader", type: "x", text },
    { name: "a", text: "1" },
  ]);
  await expect(read(bytes)).rejects.toMatchObject({ code: "data_loss" });
});

test("passes over what only describes other entries", async () => {
  const about = ["g", "V", "D"].map((type) => ({ name: "about", text: "", type }));
  const link = [longName("long"), { name: "././@LongLink", text: "target\0", type: "K" }, { name: "l", text: "1" }];
  const path = join(tempFolder(), "a.tar");
  writeFileSync(path, makeTar([...about, ...link]));
  const names: string[] = [];
  const onOther = (name: string) => expect.fail(name);
  for await (const { name } of readTarball(path, { isGzipped: false, onOther })) names.push(name);
  expect(names).toEqual(["long"]);
});

test.runIf(process.platform === "linux")("closes its file, read to the end or not", async () => {
  const path = join(tempFolder(), "a");
  const open = () =>
    readdirSync("/proc/self/fd").filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`) === path;
      } catch {
        return false;
      }
    });
  const entries = [
    { name: "link", text: "", type: "2" },
    { name: "a", text: randomBytes(1e6).toString("hex") },
  ];
  for (const isGzipped of [true, false]) {
    writeFileSync(path, isGzipped ? makeTarball(entries) : makeTar(entries));
    for await (const _ of readTarball(path, { isGzipped })) expect(open()).toHaveLength(1);
    for await (const _ of readTarball(path, { isGzipped })) break;
    const onOther = () => {
      throw new Error("a link");
    };
    await expect(readTarball(path, { isGzipped, onOther }).next()).rejects.toThrow("a link");
    await expect.poll(open).toEqual([]);
  }
});

const TAR = makeTar(ENTRIES);
const changed = (at: number) => Object.assign(Buffer.from(TAR), { [at]: 0x39 });

test.each([
  ["text", Buffer.from("not an archive")],
  ["an empty file", Buffer.alloc(0)],
  ["gzip of something else", gzipSync(LARGE)],
  ["an archive that is cut within gzip", makeTarball(ENTRIES).subarray(0, 300)],
  ["an archive that is cut within a file", gzipSync(TAR.subarray(0, 5000))],
  ["an archive that is cut between files", gzipSync(TAR.subarray(0, 1536))],
  ["a header that does not add up", gzipSync(changed(3))],
])("refuses %s", async (_, bytes) => {
  await expect(read(bytes)).rejects.toMatchObject({
    code: "data_loss",
    message: "it is not a gzipped tar archive, or a damaged or cut one. Download it again.",
  });
});

test("a size that begins otherwise is none, even of an empty file", async () => {
  const empty = [{ name: "a", text: "" }];
  expect(await read(withHeader(empty, sized("00000000000")))).toEqual({ a: "" });
  await expect(read(withHeader(empty, sized("x0000000000")))).rejects.toMatchObject({ code: "data_loss" });
});

test("files behind the end are told, in any form, wherever they stand", async () => {
  const old = withHeader(ONE, (header) => void header.fill(0, 257, 265));
  expect(await read(old)).toEqual({ a: "12345" });
  for (const more of [makeTar(ONE), gunzipSync(withTimes), gunzipSync(old)]) {
    const bytes = Buffer.concat([makeTar(ONE), Buffer.alloc(4096, "x"), more]);
    await expect(read(gzipSync(bytes))).rejects.toMatchObject({
      code: "data_loss",
      message: expect.stringContaining("it has files behind its end"),
    });
  }
});

test("a damaged archive is told with its cause, if there is one", async () => {
  const told = async (bytes: Buffer) => read(bytes).catch((reason: Error) => reason.cause);
  expect(await told(makeTarball(ENTRIES).subarray(0, 300))).toMatchObject({ code: "Z_BUF_ERROR" });
  const whole = read(gzipSync(changed(3))).catch((reason: Error) => "cause" in reason);
  expect(await whole).toBe(false);
});

test("an abort ends the reading amid entries that are passed over, and amid what follows the last one", async () => {
  const folder = tempFolder();
  const links = Array.from({ length: 5 }, () => ({ name: "l", text: "", type: "2" }));
  writeFileSync(join(folder, "links.tar"), makeTar(links));
  const amid = new AbortController();
  const names: string[] = [];
  const onOther = (name: string) => {
    names.push(name);
    amid.abort(new Error("left"));
  };
  const reading = readTarball(join(folder, "links.tar"), { isGzipped: false, onOther, signal: amid.signal }).next();
  await expect(reading).rejects.toThrow("left");
  expect(names).toEqual(["l"]);
  writeFileSync(join(folder, "long.tar"), Buffer.concat([makeTar(ONE), Buffer.alloc(20_000_000)]));
  const behind = new AbortController();
  const readAll = async () => {
    for await (const { name } of readTarball(join(folder, "long.tar"), { isGzipped: false, signal: behind.signal })) {
      names.push(name);
      setImmediate(() => behind.abort(new Error("gone")));
    }
  };
  await expect(readAll()).rejects.toThrow("gone");
  expect(names).toEqual(["l", "a"]);
});
