import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { isArchiveName, UpperLayers, unpackArchive } from "../../../src/storage/unpack/unpack-archive.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { longName, makeTar, makeTarball } from "../runtimes/make-tarball.ts";
import { makeZip } from "../runtimes/make-zip.ts";

async function unpack(name: string, bytes: Uint8Array, options: { maxBytes?: number; within?: string } = {}) {
  const folder = tempFolder();
  writeFileSync(join(folder, name), bytes);
  const target = join(folder, "content");
  const signal = new AbortController().signal;
  const size = await unpackArchive(join(folder, name), { folder: target, maxBytes: 1e6, signal, ...options });
  return { folder: target, size };
}

test.each([
  ["m.tar.gz", makeTarball([{ name: "./a/b.onnx", text: "model" }])],
  ["m.TGZ", makeTarball([{ name: "a/b.onnx", text: "model" }])],
  ["m.tar", makeTar([{ name: "a/b.onnx", text: "model" }])],
  ["m.zip", makeZip({ "a/b.onnx": "model" })],
])("%s is unpacked", async (name, bytes) => {
  const { folder, size } = await unpack(name, bytes);
  expect(readFileSync(join(folder, "a/b.onnx"), "utf8")).toBe("model");
  expect(size).toBe(5);
});

const FILE = { name: "a.onnx", text: "model" };
/** A name beside the folders that archives are unpacked in. */
const OUTSIDE = `kserving-outside-${process.pid}`;
const OUTSIDE_PATH = join(tmpdir(), OUTSIDE);

test.each([
  [
    "a name that leads out",
    makeTarball([FILE, { name: `../${OUTSIDE}`, text: "" }]),
    /in the archive, the name "\.\.\/kserving-outside-\d+" cannot be/,
  ],
  [
    "a name in the middle that leads out",
    makeTarball([{ name: `a/../../${OUTSIDE}`, text: "" }]),
    /cannot be a file's below/,
  ],
  [
    "a name of more folders than any file is in",
    makeTarball([longName(`${"a/".repeat(40)}b`), FILE]),
    /cannot be a file's below its folder/,
  ],
  ["an absolute name", makeTarball([{ name: OUTSIDE_PATH, text: "" }]), /kserving-outside-\d+" cannot be/],
  [
    "a symbolic link",
    makeTarball([{ name: "a", text: "", type: "2" }]),
    /"a" is a symbolic link, which is not unpacked/,
  ],
  ["a link", makeTarball([{ name: "a", text: "", type: "1" }]), /"a" is a link/],
  ["a device", makeTarball([{ name: "a", text: "", type: "3" }]), /"a" is a device/],
  ["a pipe", makeTarball([{ name: "a", text: "", type: "6" }]), /"a" is a pipe/],
  ["a file as a folder", makeTarball([FILE, { name: "a.onnx/b", text: "" }]), /is a file and a folder at once/],
  ["a bomb", makeTarball([{ name: "a", text: "0".repeat(2e6) }]), /have more than 977 KB/],
  ["a cut archive", makeTarball([FILE]).subarray(0, 60), /not a gzipped tar archive, or a damaged or cut one/],
  ["another file", Buffer.from("<html>"), /not a gzipped tar archive/],
])("%s is refused, and nothing is written outside", async (_, bytes, message) => {
  await expect(unpack("m.tar.gz", bytes)).rejects.toThrow(message);
  expect(existsSync(OUTSIDE_PATH)).toBe(false);
});

test("a zip with a name that leads out, and one that unpacks to more than it says, are refused", async () => {
  await expect(unpack("m.zip", makeZip({ "../out": "" }))).rejects.toThrow(/cannot be a file's below/);
  const zip = makeZip({ "a.onnx": "x".repeat(5000) });
  const packed = deflateRawSync("x".repeat(5000));
  expect(zip.includes(packed)).toBe(true);
  await expect(unpack("m.zip", zip, { maxBytes: 4999 })).rejects.toThrow(/have more than 4\.9 KB/);
});

test.each([
  ["m.zip", makeZip],
  [
    "m.tar.gz",
    (files: Record<string, string>) => makeTarball(Object.entries(files).map(([name, text]) => ({ name, text }))),
  ],
])("what a Mac packs beside the files of %s is passed over", async (name, make) => {
  const beside = { "__MACOSX/m/._model.onnx": "x", "m/._model.onnx": "x", "m/.DS_Store": "x", "._m": "x" };
  const { folder } = await unpack(name, make({ "m/model.onnx": "model", ...beside }));
  expect(readdirSync(folder, { recursive: true }).sort()).toEqual(["m", "m/model.onnx"]);
});

test("of a folder within, nothing else is looked at", async () => {
  const bytes = makeTarball([
    { name: "bin/sh", text: "", type: "2" },
    { name: "models/a.onnx", text: "model" },
  ]);
  const { folder } = await unpack("m.tar.gz", bytes, { within: "models/" });
  expect(readdirSync(folder)).toEqual(["models"]);
});

test("of a zip, folders and what is outside of a folder within are passed over, and links there refused", async () => {
  const files = { "models/": "", "models/a.onnx": "model", "bin/sh": "x", "./models/b.onnx": "more" };
  const { folder, size } = await unpack("m.zip", makeZip(files), { within: "models/" });
  expect(readdirSync(folder, { recursive: true }).sort()).toEqual(["models", "models/a.onnx", "models/b.onnx"]);
  expect(size).toBe(9);
  const link = makeZip({ "models/a.onnx": "/etc/passwd" }, { mode: 0o120777 });
  await expect(unpack("m.zip", link)).rejects.toThrow(/^in the archive, "models\/a\.onnx" is a link, which is not/);
  expect((await unpack("m.zip", link, { within: "others/" })).size).toBe(0);
});

test("names that are like those of a Mac are files", async () => {
  const names = ["__MACOSX.txt", "a__MACOSX/b", "a._b", "a.DS_Store", ".DS_Store.txt", ".DS_Storex/a", "._d/a"];
  const { folder } = await unpack("m.zip", makeZip(Object.fromEntries(names.map((name) => [name, "x"]))));
  expect(names.filter((name) => !existsSync(join(folder, name)))).toEqual([]);
});

test("archives are known by the endings of their names", () => {
  const [good, bad] = [
    ["a.zip", "a.ZIP", "a.tar", "b/a.tar.gz", "a.tgz", ".tgz"],
    ["a.zip.txt", "azip", "a.tars", "a.tar.gz2", "atgz", "a.gz", "tar", ""],
  ];
  expect([...good, ...bad].filter(isArchiveName)).toEqual(good);
});

test("what is written may be as much as the limit, and no byte more", async () => {
  const bytes = makeTar([FILE, { name: "b", text: "12345" }]);
  expect((await unpack("m.tar", bytes, { maxBytes: 10 })).size).toBe(10);
  await expect(unpack("m.tar", bytes, { maxBytes: 9 })).rejects.toMatchObject({ code: "failed_precondition" });
});

test("ten thousand files are taken, however they are called, and no more", async () => {
  const same = Array.from({ length: 9999 }, () => ({ name: "same", text: "" }));
  const folder = tempFolder({ "m.tar": makeTar([...same, { name: "last", text: "" }, FILE]) });
  const limits = { folder, maxBytes: 1e6, signal: new AbortController().signal };
  await expect(unpackArchive(join(folder, "m.tar"), limits)).rejects.toThrow("there are more than 10000 files");
  expect(readdirSync(folder).sort()).toEqual(["last", "m.tar", "same"]);
});

test("a folder as a file is refused, an archive that is not there or damaged is told, and an abort ends it", async () => {
  const reversed = makeTar([
    { name: "a/b", text: "" },
    { name: "a", text: "" },
  ]);
  await expect(unpack("m.tar", reversed)).rejects.toMatchObject({
    ...{ code: "failed_precondition", message: 'in the archive, "a" is a file and a folder at once' },
  });
  const folder = tempFolder();
  const signal = AbortSignal.abort(new Error("left"));
  const limits = { folder, maxBytes: 1e6, signal: new AbortController().signal };
  await expect(unpackArchive(join(folder, "no.zip"), limits)).rejects.toMatchObject({ code: "ENOENT" });
  writeFileSync(join(folder, "a.zip"), makeZip({ a: "b" }));
  await expect(unpackArchive(join(folder, "a.zip"), { ...limits, signal })).rejects.toThrow("left");
});

test.runIf(process.platform === "linux")("a zip is closed, unpacked or not", async () => {
  const countOpen = () => readdirSync("/proc/self/fd").length;
  const before = countOpen();
  for (let time = 0; time < 20; time++) {
    await unpack("m.zip", makeZip({ a: "b" }));
    await expect(unpack("m.zip", makeZip({ "../a": "b" }))).rejects.toThrow("cannot be a file's");
  }
  expect(countOpen()).toBeLessThan(before + 20);
});

describe("the layers of an image, from the last to the first", () => {
  const WITHIN = "models/";

  test("ten thousand names of a layer are remembered, and no more", () => {
    const layers = new UpperLayers();
    for (let name = 0; name < 10_000; name++) layers.takes(`models/${name}`, WITHIN);
    expect(["usr/other", "models", "mod", ""].map((name) => layers.takes(name, WITHIN))).toEqual(Array(4).fill(false));
    expect(() => layers.takes("models/more", WITHIN)).toThrow("a layer has more than 10000 files");
    layers.endLayer();
    expect([layers.takes("models/more", WITHIN), layers.takes("models/9999", WITHIN)]).toEqual([true, false]);
  });

  test("a name of 4096 letters is taken, and no longer one", () => {
    const layers = new UpperLayers();
    expect(layers.takes(`models/${"a".repeat(4089)}`, WITHIN)).toBe(true);
    expect(() => layers.takes(`models/${"b".repeat(4090)}`, WITHIN)).toThrow("more than 4096 letters");
    expect(layers.takes("a".repeat(5000), WITHIN)).toBe(false);
  });

  test.each<[string, readonly string[], Readonly<Record<string, boolean>>]>([
    ["a file", ["./models/a"], { "models/a": false, "/models/a": false, "models/a/b": false, "models/ab": true }],
    ["a file called as others begin", ["models/1"], { "models/12/a": true, "././models/1": false }],
    ["a file in folders", ["models/1/a"], { "models/1": false, "models/1/b": true, "models/1/a": false }],
    ["a file's whiteout", ["models/.wh.a"], { "models/a": false, "models/a/b": false, "models/b": true }],
    ["a folder's whiteout", [".wh.models"], { "models/a": false }],
    ["an emptied folder", ["models/1/.wh..wh..opq"], { "models/1/a": false, "models/2/a": true }],
    ["all emptied", [".wh..wh..opq"], { "models/a": false }],
    ["a whiteout elsewhere", ["usr/.wh.a", ".wh.model", ".wh.mod"], { "models/a": true, "usr/b": false }],
    ["what only looks like one", ["models/a.wh.b", "models/.whb"], { "models/b": true, "models/a": true }],
  ])("%s hides what is below it, and in its own layer nothing", (_, upper, lower) => {
    const layers = new UpperLayers();
    const takes = (names: readonly string[]) => names.map((name) => [name, layers.takes(name, WITHIN)]);
    for (const name of upper) layers.takes(name, WITHIN);
    layers.endLayer();
    expect(Object.fromEntries(takes(Object.keys(lower)))).toEqual(lower);
  });

  test("a whiteout is never a file, and counts for the layers below alone", () => {
    const layers = new UpperLayers();
    const entries = ["models/.wh.a", "models/a", "models/.wh..wh..opq", "models/b"];
    expect(entries.map((name) => layers.takes(name, WITHIN))).toEqual([false, true, false, true]);
    layers.endLayer();
    expect(layers.takes("models/c", WITHIN)).toBe(false);
  });
});
