import { gunzipSync, inflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { compress } from "../../src/limits/compress.ts";
import { MemoryBudget } from "../../src/limits/memory/memory-budget.ts";

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
