import { expect, it, test } from "vitest";
import { borrowMemory, MemoryPool, returnMemory } from "../../../../src/platform/limits/memory/memory-pool.ts";

const KILOBYTE = 1024;
const BYTES = 100_003;
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
  const [least, most] = [64 * KILOBYTE, 16 * MEGABYTE].map((bytes) => new ArrayBuffer(bytes));
  for (const memory of [least, most]) {
    pool.release(memory as ArrayBuffer);
    expect(pool.take(64 * KILOBYTE - 1)).toBeUndefined();
    expect(pool.take(memory?.byteLength as number)).toBe(memory);
  }
});

it("lets the oldest go for newer ones", () => {
  const pool = new MemoryPool();
  const [oldest, newer, newest] = [6, 7, 8].map((megabytes) => new ArrayBuffer(megabytes * MEGABYTE));
  for (const memory of [oldest, newer, newest]) pool.release(memory as ArrayBuffer);
  expect(pool.take(6 * MEGABYTE)).toBeUndefined();
  expect(pool.take(7 * MEGABYTE)).toBe(newer);
  expect(pool.take(8 * MEGABYTE)).toBe(newest);
});

test("memory that was returned is borrowed again, and who still views it sees nothing", () => {
  const first = borrowMemory(BYTES);
  const view = new Uint8Array(first).fill(7);
  returnMemory(first);
  expect(view.length).toBe(0);
  const second = borrowMemory(BYTES);
  expect(new Uint8Array(second)[BYTES - 1]).toBe(7);
  returnMemory(first);
  expect(second.byteLength).toBe(BYTES);
  const [third, fourth] = [borrowMemory(BYTES), borrowMemory(BYTES)];
  for (const memory of [third, fourth]) new Uint8Array(memory).fill(1);
  expect(new Uint8Array(second)[BYTES - 1]).toBe(7);
});

test("memory for another size is not the same, by not even a byte", () => {
  returnMemory(borrowMemory(BYTES + 1));
  expect(borrowMemory(BYTES).byteLength).toBe(BYTES);
});

test("only what was borrowed is taken, and only while it is here", () => {
  const own = new ArrayBuffer(BYTES);
  returnMemory(own);
  expect(own.byteLength).toBe(BYTES);
  const gone = borrowMemory(BYTES);
  structuredClone(gone, { transfer: [gone] });
  expect(() => returnMemory(gone)).not.toThrow();
  const small = borrowMemory(100);
  returnMemory(small);
  expect(small.byteLength).toBe(100);
});
