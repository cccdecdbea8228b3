import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { expect, test } from "vitest";
import { unpackArchive } from "../../../src/storage/unpack/unpack-archive.ts";
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
