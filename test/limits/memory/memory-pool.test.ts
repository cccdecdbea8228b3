import { expect, it } from "vitest";
import { MemoryPool } from "../../../src/limits/memory/memory-pool.ts";

const KILOBYTE = 1024;
const MEGABYTE = 1024 * KILOBYTE;

it("gives memory out once, to who needs nearly as much", () => {
  const pool = new MemoryPool();
  const memory = new ArrayBuffer(600 * KILOBYTE);
  pool.release(memory);
  expect(pool.take(500 * KILOBYTE)).toBeUndefined();
  expect(pool.take(601 * KILOBYTE)).toBeUndefined();
  expect(pool.take(600 * KILOBYTE - 500)).toBe(memory);
  expect(pool.take(600 * KILOBYTE)).toBeUndefined();
});

it("keeps neither small memory, nor more than it may hold, nor what went to another thread", () => {
  const pool = new MemoryPool();
  const gone = new ArrayBuffer(600 * KILOBYTE);
  structuredClone(gone, { transfer: [gone] });
  for (const memory of [new ArrayBuffer(KILOBYTE), new ArrayBuffer(17 * MEGABYTE), gone]) pool.release(memory);
  for (const bytes of [0, KILOBYTE, 600 * KILOBYTE, 17 * MEGABYTE]) expect(pool.take(bytes)).toBeUndefined();
});

it("lets the oldest go for newer ones", () => {
  const pool = new MemoryPool();
  const [oldest, newer, newest] = [6, 7, 8].map((megabytes) => new ArrayBuffer(megabytes * MEGABYTE));
  for (const memory of [oldest, newer, newest]) pool.release(memory as ArrayBuffer);
  expect(pool.take(6 * MEGABYTE)).toBeUndefined();
  expect(pool.take(7 * MEGABYTE)).toBe(newer);
  expect(pool.take(8 * MEGABYTE)).toBe(newest);
});
