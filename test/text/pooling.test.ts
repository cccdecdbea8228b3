import { expect, test } from "vitest";
import { toNested } from "../../src/tensor/elements.ts";
import { createTensor, type Tensor } from "../../src/tensor/tensor.ts";
import { cutDimensions, normalise, POOLING_KINDS, pool } from "../../src/text/text.ts";

const hidden = createTensor("float32", [2, 3, 2], Float32Array.of(1, 2, 3, 4, 5, 9, 7, 8, 1, 1, 1, 1));
const mask = createTensor("int64", [2, 3], BigInt64Array.of(1n, 1n, 1n, 1n, 0n, 0n));
const rows = (tensor: Tensor<"float32">) => toNested(tensor, (value) => Math.round(Number(value) * 1000) / 1000);

test.each([
  [
    "cls",
    [
      [1, 2],
      [7, 8],
    ],
  ],
  [
    "lasttoken",
    [
      [5, 9],
      [7, 8],
    ],
  ],
  [
    "max",
    [
      [5, 9],
      [7, 8],
    ],
  ],
  [
    "mean",
    [
      [3, 5],
      [7, 8],
    ],
  ],
  [
    "mean_sqrt_len_tokens",
    [
      [5.196, 8.66],
      [7, 8],
    ],
  ],
  [
    "weightedmean",
    [
      [3.667, 6.167],
      [7, 8],
    ],
  ],
] as const)("pooling by %s leaves padding out", (kind, expected) => {
  expect(rows(pool(hidden, mask, kind))).toEqual(expected);
  expect(POOLING_KINDS).toContain(kind);
});

test("padding may be in front, and several ways give vectors behind each other", () => {
  const left = createTensor("int64", [2, 3], BigInt64Array.of(0n, 1n, 1n, 0n, 0n, 1n));
  expect(rows(pool(hidden, left, ["cls", "lasttoken"]))).toEqual([
    [3, 4, 5, 9],
    [1, 1, 1, 1],
  ]);
});

test("half floats are pooled, and tensors of other shapes and types are refused", () => {
  const half = createTensor("float16", [1, 1, 2], Uint16Array.of(0x3c00, 0x4000));
  const one = createTensor("int64", [1, 1], BigInt64Array.of(1n));
  expect(rows(pool(half, one, "mean"))).toEqual([[1, 2]]);
  expect(() => pool(hidden, one, "mean")).toThrow("got [2,3,2] and [1,1]");
  const integers = createTensor("int32", [1, 1, 1], Int32Array.of(1));
  expect(() => pool(integers, one, "mean")).toThrow("output is int32; expected floats");
});

test("vectors get a length of 1, and zeros stay", () => {
  const vectors = createTensor("float32", [2, 2], Float32Array.of(3, 4, 0, 0));
  expect(rows(normalise(vectors))).toEqual([
    [0.6, 0.8],
    [0, 0],
  ]);
});

test("the first numbers of vectors are kept, as many as there are at most", () => {
  const vectors = createTensor("float32", [2, 3], Float32Array.of(1, 2, 3, 4, 5, 6));
  expect(rows(cutDimensions(vectors, 2))).toEqual([
    [1, 2],
    [4, 5],
  ]);
  for (const wrong of [0, 4, 1.5]) expect(() => cutDimensions(vectors, wrong)).toThrow("expected 1 to 3");
});
