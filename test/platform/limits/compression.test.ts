import { buffer } from "node:stream/consumers";
import { deflateSync, gunzipSync, gzipSync, inflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { compress, compressStream, inflate, isCompression } from "../../../src/platform/limits/compression.ts";
import { MemoryBudget } from "../../../src/platform/limits/memory/memory-budget.ts";

const MEGABYTE = 1024 * 1024;
const TEXT = Buffer.from("0123456789".repeat(100_000));

function limits(maxBytes = 2 * MEGABYTE, budget = new MemoryBudget(4 * MEGABYTE)) {
  return { maxBytes, memory: budget.open() };
}

describe("inflate", () => {
  test.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
  ] as const)("brings back what was compressed with %s", async (how, compress) => {
    expect(TEXT.equals(await inflate(compress(TEXT), how, limits()))).toBe(true);
    expect(await inflate(compress(Buffer.alloc(0)), how, limits())).toHaveLength(0);
  });

  test("makes room once for the size that gzip states, and for more where that is a lie", async () => {
    const text = Buffer.alloc(12 * MEGABYTE, TEXT);
    const bytes = gzipSync(text);
    const large = () => limits(40 * MEGABYTE, new MemoryBudget(100 * MEGABYTE));
    expect((await inflate(bytes, "gzip", large())).buffer.byteLength).toBe(text.length);
    const [low, high] = [300_000, 0xffff_ffff].map((stated) => {
      const lie = Buffer.from(bytes);
      lie.writeUInt32LE(stated, lie.length - 4);
      return lie;
    });
    for (const lie of [low, high]) {
      await expect(inflate(lie as Buffer, "gzip", large())).rejects.toMatchObject({ code: "invalid_argument" });
    }
    const parts = Buffer.concat([bytes, gzipSync("end")]);
    expect(await inflate(parts, "gzip", large())).toHaveLength(text.length + 3);
  });

  test("puts bytes before what it inflates, which do not count", async () => {
    const lead = Buffer.from("lead ");
    for (const text of [Buffer.alloc(0), TEXT, Buffer.alloc(12 * MEGABYTE, TEXT)]) {
      const memory = new MemoryBudget(100 * MEGABYTE).open();
      const inflated = await inflate(gzipSync(text), "gzip", { maxBytes: text.length, memory, lead });
      expect(Buffer.concat([lead, text]).equals(inflated)).toBe(true);
    }
  });

  test("takes what becomes just as large as it may, and no byte more", async () => {
    expect(await inflate(gzipSync(TEXT), "gzip", limits(TEXT.length))).toHaveLength(TEXT.length);
    await expect(inflate(gzipSync(TEXT), "gzip", limits(TEXT.length - 1))).rejects.toMatchObject({
      code: "resource_exhausted",
    });
  });

  test("stops where the requests under way leave no room", async () => {
    const budget = new MemoryBudget(TEXT.length);
    budget.open().grow(1);
    await expect(inflate(gzipSync(TEXT), "gzip", limits(MEGABYTE, budget))).rejects.toMatchObject({
      code: "unavailable",
    });
  });

  test("holds nothing of what there was no room for", async () => {
    const bomb = gzipSync(Buffer.alloc(100 * MEGABYTE));
    const before = process.memoryUsage().arrayBuffers;
    const budget = new MemoryBudget(60 * MEGABYTE);
    budget.open().grow(1);
    await expect(inflate(bomb, "gzip", limits(200 * MEGABYTE, budget))).rejects.toMatchObject({ code: "unavailable" });
    await expect.poll(() => process.memoryUsage().arrayBuffers - before).toBeLessThan(40 * MEGABYTE);
  });

  test("stops where the request is over", async () => {
    const ended = limits();
    const inflated = inflate(gzipSync(TEXT), "gzip", ended);
    ended.memory.release();
    await expect(inflated).rejects.toMatchObject({ code: "cancelled" });
  });

  test.each([
    ["nothing", Buffer.alloc(0)],
    ["what is cut off", gzipSync(TEXT).subarray(0, 500)],
    ["what was compressed otherwise", deflateSync(TEXT)],
    ["what was not compressed", TEXT],
  ])("refuses %s", async (_, bytes) => {
    await expect(inflate(bytes, "gzip", limits())).rejects.toMatchObject({
      code: "invalid_argument",
      message:
        "The body is not valid gzip data, although its headers say so; compress it, or send it without the header.",
    });
  });
});

const PIECES = [Buffer.from("0123456789".repeat(50)), Buffer.alloc(0), Buffer.from("abc".repeat(100_000))];

test.each([
  ["gzip", gunzipSync],
  ["deflate", inflateSync],
] as const)("with %s counts each byte of what it makes", async (how, inflate) => {
  let counted = 0;
  const pieces = await compress(PIECES, how, (bytes) => {
    counted += bytes;
  });
  const compressed = Buffer.concat(pieces ?? []);
  expect(counted).toBe(compressed.length);
  expect(inflate(compressed).equals(Buffer.concat(PIECES))).toBe(true);
});

test("leaves small answers as they are", async () => {
  expect(await compress([Buffer.alloc(200), Buffer.alloc(55)], "gzip", () => {})).toBeUndefined();
  expect(await compress([Buffer.alloc(200), Buffer.alloc(56)], "gzip", () => {})).toBeDefined();
});

test("ends where there is no room for what it makes", async () => {
  const budget = new MemoryBudget(1000);
  budget.open().grow(1000);
  const memory = budget.open();
  const making = compress(PIECES, "gzip", (bytes) => memory.grow(bytes));
  await expect(making).rejects.toMatchObject({ code: "unavailable" });
});

test("compresses what arrives in parts, and fails as that does", async () => {
  async function* parts(reason?: Error): AsyncGenerator<Uint8Array> {
    yield* PIECES;
    if (reason !== undefined) throw reason;
  }
  const [zipped, deflated] = [compressStream(parts(), "gzip"), compressStream(parts(), "deflate")];
  expect(gunzipSync(await buffer(zipped)).equals(Buffer.concat(PIECES))).toBe(true);
  expect(inflateSync(await buffer(deflated)).equals(Buffer.concat(PIECES))).toBe(true);
  await expect(buffer(compressStream(parts(new Error("gone")), "gzip"))).rejects.toThrow("gone");
});

test("knows the compressions that there are by their names alone", () => {
  expect(["gzip", "deflate", "br", "", "toString"].map(isCompression)).toEqual([true, true, false, false, false]);
});
