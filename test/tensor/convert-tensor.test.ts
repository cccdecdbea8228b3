import { describe, expect, it } from "vitest";
import { convertTensor } from "../../src/tensor/convert-tensor.ts";
import { toBfloat16, toFloat16 } from "../../src/tensor/float16.ts";
import { createTensor, type Tensor } from "../../src/tensor/tensor.ts";

const tensor = (dtype: string, data: unknown) =>
  createTensor(dtype as "float32", [(data as Float32Array).length], data as Float32Array) as Tensor;

describe("a tensor's numbers become another dtype", () => {
  it.each([
    ["uint8", Uint8Array.of(0, 255), "float32", Float32Array.of(0, 255)],
    ["int32", Int32Array.of(-1, 16_777_217), "float32", Float32Array.of(-1, 16_777_216)],
    ["int64", BigInt64Array.of(-(2n ** 62n)), "float32", Float32Array.of(-(2 ** 62))],
    ["float64", Float64Array.of(0.1, Number.NaN), "float32", Float32Array.of(0.1, Number.NaN)],
    ["float32", Float32Array.of(3, -0), "int64", BigInt64Array.of(3n, 0n)],
    ["int64", BigInt64Array.of(2n ** 53n + 1n), "uint64", BigUint64Array.of(2n ** 53n + 1n)],
    ["int64", BigInt64Array.of(7n), "int8", Int8Array.of(7)],
    ["float16", Uint16Array.of(toFloat16(1.5)), "float32", Float32Array.of(1.5)],
    ["uint8", Uint8Array.of(3), "float16", Uint16Array.of(toFloat16(3))],
    ["bfloat16", Uint16Array.of(toBfloat16(-2)), "float64", Float64Array.of(-2)],
    ["float32", Float32Array.of(2), "bfloat16", Uint16Array.of(toBfloat16(2))],
    ["bool", Uint8Array.of(1, 0), "float32", Float32Array.of(1, 0)],
    ["int32", Int32Array.of(1, 0), "bool", Uint8Array.of(1, 0)],
    ["float64", Float64Array.of(Infinity, -Infinity), "float32", Float32Array.of(Infinity, -Infinity)],
    ["float32", Float32Array.of(65_519, -Infinity), "float16", Uint16Array.of(0x7bff, 0xfc00)],
    ["uint8", new Uint8Array(0), "float32", new Float32Array(0)],
  ])("%s %o as %s", (from, data, to, expected) => {
    expect(convertTensor(tensor(from, data), to as "float32")).toEqual(tensor(to, expected));
  });

  it.each([
    ["float32", Float32Array.of(1, 3.5), "int32", "Element 1, 3.5, cannot become int32: it is not an integer."],
    ["float32", Float32Array.of(Number.NaN), "int64", "Element 0, NaN, cannot become int64: it is not an integer."],
    ["int32", Int32Array.of(-1), "uint8", "Element 0, -1, cannot become uint8: it is out of its range."],
    ["float64", Float64Array.of(2 ** 63), "int64", "cannot become int64: it is out of its range."],
    ["int64", BigInt64Array.of(2n ** 40n), "int32", "Element 0, 1099511627776, cannot become int32"],
    [
      "float64",
      Float64Array.of(1, 1e300),
      "float32",
      "Element 1, 1e+300, cannot become float32: it is out of its range.",
    ],
    ["float32", Float32Array.of(70_000.5), "float16", "Element 0, 70000.5, cannot become float16: it is out of its"],
    ["int64", BigInt64Array.of(-100_000n), "float16", "Element 0, -100000, cannot become float16: it is out of its"],
    ["float64", Float64Array.of(3.4e38), "bfloat16", "cannot become bfloat16: it is out of its range."],
    ["uint8", Uint8Array.of(2), "bool", "Element 0, 2, cannot become bool: it is out of its range."],
  ])("but %s %o not %s", (from, data, to, message) => {
    expect(() => convertTensor(tensor(from, data), to as "float32")).toThrow(
      expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(message) }),
    );
  });
});
