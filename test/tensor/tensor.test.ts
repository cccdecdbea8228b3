import { describe, expect, test } from "vitest";
import { byteSize, createTensor, elementCount, viewBytes } from "../../src/tensor/tensor.ts";

describe("counting elements", () => {
  test.each([
    [[], 1],
    [[0], 0],
    [[2, 3], 6],
    [[2 ** 31, 2], 2 ** 32],
  ])("of %j gives %i", (shape, count) => {
    expect(elementCount(shape)).toBe(count);
  });

  test.each([[[-1]], [[1.5]], [[Number.NaN]], [[2 ** 40, 2 ** 40]]])("of %j is refused", (shape) => {
    expect(() => elementCount(shape)).toThrow(/Shape/);
  });
});

test("a complex element takes two slots", () => {
  expect(createTensor("complex64", [1], Float32Array.of(1, 2)).data).toHaveLength(2);
  expect(() => createTensor("complex64", [2], Float32Array.of(1, 2))).toThrow(/has 4 values, but 2 were given/);
});

test("the size of bytes is the sum over the elements", () => {
  expect(byteSize(createTensor("bytes", [2], [Buffer.alloc(3), Buffer.alloc(4)]))).toBe(7);
  expect(byteSize(createTensor("int64", [2], BigInt64Array.of(1n, 2n)))).toBe(16);
});

test("aligned bytes are viewed in place and others copied once", () => {
  const buffer = new Uint8Array(16);
  expect(viewBytes("float32", buffer.subarray(4, 12)).buffer).toBe(buffer.buffer);
  const moved = viewBytes("float32", buffer.subarray(3, 11));
  expect(moved.buffer).not.toBe(buffer.buffer);
  expect(moved).toHaveLength(2);
});
