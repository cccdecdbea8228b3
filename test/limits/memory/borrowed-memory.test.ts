import { expect, test } from "vitest";
import { borrowMemory, returnMemory } from "../../../src/limits/memory/borrowed-memory.ts";

const BYTES = 100_003;

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
