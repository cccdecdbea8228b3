import { expect, test } from "vitest";
import { overflowOf, overflows } from "../../src/tensor/float-range.ts";
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from "../../src/tensor/float16.ts";

test.each([
  ["float16", (value: number) => fromFloat16(toFloat16(value))],
  ["bfloat16", (value: number) => fromBfloat16(toBfloat16(value))],
  ["float32", Math.fround],
] as const)("%s makes the number infinite from which on it is told to, and none below", (dtype, round) => {
  const overflow = overflowOf(dtype);
  expect(round(overflow)).toBe(Infinity);
  expect(round(-overflow)).toBe(-Infinity);
  expect(round(overflow * (1 - 2 ** -53))).toBeLessThan(Infinity);
});

test("infinities and NaN do not become infinite, nor does any float64", () => {
  expect([Infinity, -Infinity, Number.NaN, 65_519].map((value) => overflows(value, overflowOf("float16")))).toEqual(
    Array(4).fill(false),
  );
  expect(overflows(1e300, overflowOf("float64"))).toBe(false);
});
