import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { unpackArchive } from "../../../src/storage/unpack/unpack-archive.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { longName, makeTar } from "../runtimes/make-tarball.ts";
import { makeZip } from "../runtimes/make-zip.ts";

const FILES = { "m/1/model.onnx": "weights ".repeat(200), "m/1/labels.txt": "cat\ndog\n", "m/1/empty": "" };
const ENTRIES = Object.entries(FILES).map(([name, text]) => ({ name, text }));
const TAR = makeTar([
  { name: "m/", text: "", type: "5" },
  longName("m/1/long"),
  { name: "cut", text: "x" },
  ...ENTRIES,
]);
const PADDED = Buffer.concat([TAR, Buffer.alloc(200_000)]);

const ARCHIVES: Readonly<Record<string, Buffer>> = {
  "a.tar.gz": gzipSync(TAR),
  "zeros-behind.tar.gz": gzipSync(PADDED),
  "two-members.tar.gz": Buffer.concat([gzipSync(TAR.subarray(0, 2000)), gzipSync(TAR.subarray(2000))]),
  "stored.tar.gz": gzipSync(TAR, { level: 0 }),
  "a.zip": makeZip(FILES),
  "stored.zip": makeZip(FILES, { stored: true }),
};

async function contents(name: string, bytes: Uint8Array): Promise<string> {
  const folder = tempFolder();
  writeFileSync(join(folder, name), bytes);
  const signal = new AbortController().signal;
  await unpackArchive(join(folder, name), { folder: join(folder, "content"), maxBytes: 1e7, signal });
  const names = readdirSync(join(folder, "content"), { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map(({ parentPath, name: file }) => join(parentPath, file));
  return JSON.stringify(files.sort().map((path) => [path.slice(folder.length), readFileSync(path, "latin1")]));
}

/** Asserts that a changed archive is refused, or gives the very files of the sound one. */
async function assertRefusedOrSame(name: string, changed: readonly [string, Uint8Array][]): Promise<number> {
  const sound = await contents(name, ARCHIVES[name] as Buffer);
  let refused = 0;
  for (const [what, bytes] of changed) {
    const found = await contents(name, bytes).catch((reason: Error) => {
      expect(reason).toHaveProperty("code", expect.stringMatching(/data_loss|failed_precondition|unimplemented/));
      refused++;
      return sound;
    });
    if (found !== sound) throw new Error(`${name}, ${what}: other files than those of the sound archive`);
  }
  return refused;
}

/** Some 120 places, evenly spread, with the first and last ones. */
function places(length: number): number[] {
  const step = Math.max(1, Math.floor(length / 90));
  const all = Array.from({ length: Math.ceil(length / step) }, (_, index) => index * step);
  return [...all, ...Array.from({ length: Math.min(30, length) }, (_, index) => length - 1 - index)];
}

function flip(bytes: Buffer, place: number, bit: number): Buffer {
  const changed = Buffer.from(bytes);
  changed[place] = (changed[place] as number) ^ (1 << bit);
  return changed;
}

test.each(Object.keys(ARCHIVES))("%s that is cut anywhere is refused", async (name) => {
  const bytes = ARCHIVES[name] as Buffer;
  const cuts = places(bytes.length - 1).map((place): [string, Buffer] => [`cut to ${place}`, bytes.subarray(0, place)]);
  expect(await assertRefusedOrSame(name, cuts)).toBe(cuts.length);
});

test.each(Object.keys(ARCHIVES))("%s with a changed bit is refused, or has the same files", async (name) => {
  const bytes = ARCHIVES[name] as Buffer;
  const changed = places(bytes.length).map((place, index): [string, Buffer] => [
    `bit ${index % 8} of ${place}`,
    flip(bytes, place, index % 8),
  ]);
  expect(await assertRefusedOrSame(name, changed)).toBeGreaterThan(changed.length / 3);
});

const HEADERS = Array.from({ length: TAR.length / 512 }, (_, index) => index * 512).filter(
  (at) => TAR.toString("latin1", at + 257, at + 262) === "ustar",
);

test("a tar archive, which has checksums of headers alone, with a changed header is refused", async () => {
  const changed = HEADERS.flatMap((at) => [0, 60, 124, 134, 150, 156, 257, 400].map((each) => at + each)).map(
    (place): [string, Buffer] => [`bit 0 of ${place}`, flip(TAR, place, 0)],
  );
  for (const [what, bytes] of changed) await expect(contents("a.tar", bytes), what).rejects.toThrow();
});

test("files behind a hole of zeros are not passed over in silence", async () => {
  const [, , second = 0] = HEADERS;
  const holed = Buffer.from(TAR).fill(0, second, second + 512);
  await expect(contents("a.tar", holed)).rejects.toThrow("has files behind its end");
  const garbage = Buffer.concat([TAR, Buffer.alloc(5000, "x")]);
  expect(await contents("a.tar", garbage)).toBe(await contents("a.tar", TAR));
});

test("a zip whose directory counts too few files, or names one otherwise, is refused", async () => {
  const sound = makeZip(FILES);
  const fewer = Buffer.from(sound);
  fewer.writeUInt16LE(2, sound.length - 12);
  await expect(contents("a.zip", fewer)).rejects.toThrow("damaged");
  const renamed = Buffer.from(sound);
  renamed.write("X", sound.lastIndexOf("labels.txt"));
  await expect(contents("a.zip", renamed)).rejects.toThrow("damaged");
});
