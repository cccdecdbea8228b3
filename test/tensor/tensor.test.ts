import { describe, expect, test } from "vitest";
import { markPlainLists } from "../../src/tensor/plain-list.ts";
import {
  assertCarriable,
  byteSize,
  createTensor,
  elementCount,
  isTensor,
  looksLikeTensor,
  viewBytes,
} from "../../src/tensor/tensor.ts";

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

describe("a shape that threads can carry", () => {
  test("has a rank of 254 and dimensions of 2^31 - 1 at most", () => {
    expect(() => assertCarriable(Array(254).fill(2 ** 31 - 1), "x")).not.toThrow();
    expect(() => assertCarriable(Array(255).fill(1), "x")).toThrow("x has rank 255; expected 254 at most.");
    expect(() => assertCarriable([2 ** 31], "x")).toThrow("x has a dimension of 2147483648; expected less than 2^31.");
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

test("bytes of booleans are viewed in place, and copied where one is neither 0 nor 1", () => {
  const bytes = Uint8Array.of(0, 1, 1, 0);
  expect(viewBytes("bool", bytes).buffer).toBe(bytes.buffer);
  const odd = Uint8Array.of(0, 1, 2, 255);
  expect(viewBytes("bool", odd)).toEqual(Uint8Array.of(0, 1, 1, 1));
  expect(odd).toEqual(Uint8Array.of(0, 1, 2, 255));
});

test.each([0, 1, 2, 3])("a byte of booleans is found at any place, %i bytes behind a word's first", (offset) => {
  for (let length = 0; length < 12; length++) {
    const bytes = new Uint8Array(16).subarray(offset, offset + length);
    expect(viewBytes("bool", bytes).buffer).toBe(bytes.buffer);
    for (let at = 0; at < length; at++) {
      const other = bytes.with(at, 128);
      const shifted = new Uint8Array(16).subarray(offset, offset + length);
      shifted.set(other);
      expect(viewBytes("bool", shifted)).toEqual(bytes.with(at, 1));
    }
  }
});

describe("a tensor", () => {
  const bytes = [Buffer.from("a")];

  test.each([
    ["numbers in the array of their dtype", { dtype: "float32", shape: [1], data: Float32Array.of(1) }],
    ["a Buffer of uint8", { dtype: "uint8", shape: [2], data: Buffer.from([1, 2]) }],
    ["bytes", { dtype: "bytes", shape: [1], data: bytes }],
  ])("is %s", (_, value) => {
    expect(isTensor(value)).toBe(true);
  });

  test.each([
    ["JSON numbers", { dtype: "float32", shape: [2], data: [1, 2] }],
    ["JSON text", { dtype: "bytes", shape: [1], data: ["a"] }],
    ["an array of another dtype", { dtype: "float32", shape: [1], data: Float64Array.of(1) }],
    ["bytes with a hole", { dtype: "bytes", shape: [2], data: Object.assign(new Array(2), { 1: bytes[0] }) }],
  ])("is not %s, which only looks like one", (_, value) => {
    expect([isTensor(value), looksLikeTensor(value)]).toEqual([false, true]);
  });

  test("is not a client's JSON without elements, while the same by hand is one", () => {
    const lookalike = JSON.parse('{"dtype":"bytes","shape":[0,3],"data":[]}');
    expect(isTensor(lookalike)).toBe(true);
    markPlainLists(lookalike);
    expect([isTensor(lookalike), looksLikeTensor(lookalike)]).toEqual([false, false]);
  });

  test.each([
    ["an unknown dtype", { dtype: "f", shape: [60000, 60000], data: [] }],
    ["a member of Object", { dtype: "constructor", shape: [], data: [] }],
    ["null", null],
  ])("is not %s, nor does it look like one", (_, value) => {
    expect([isTensor(value), looksLikeTensor(value)]).toEqual([false, false]);
  });

  test.each([
    ["float32", Float64Array.of(1), "A float32 tensor's data is a Float64Array; expected a Float32Array."],
    ["int64", [1], "A int64 tensor's data is a Array; expected a BigInt64Array."],
    ["bytes", ["a"], "A bytes tensor's data has string; expected an array with one Uint8Array for each element."],
    ["bytes", Uint8Array.of(1), "A bytes tensor's data has a Uint8Array; expected an array with one Uint8Array"],
  ] as const)("of %s is not built of %o", (dtype, data, message) => {
    expect(() => createTensor(dtype, [1], data as never)).toThrow(message);
  });
});
