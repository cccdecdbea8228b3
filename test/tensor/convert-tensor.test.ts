import { describe, expect, it, test } from "vitest";
import { chooseDType, convertTensor, type Leaf } from "../../src/tensor/convert-tensor.ts";
import type { DType } from "../../src/tensor/dtype.ts";
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

const choose = (leaves: readonly Leaf[], wanted?: DType, shape: readonly number[] = [leaves.length]) =>
  chooseDType({ leaves, shape, place: "x" }, wanted);

describe("integers at the edges of their ranges", () => {
  test.each<[Leaf[], string]>([
    [[-(2 ** 31), 2 ** 31 - 1], "int32"],
    [[2 ** 31], "int64"],
    [[-(2 ** 31) - 1], "int64"],
    [[-(2n ** 63n), 2n ** 63n - 1n], "int64"],
    [[2n ** 63n], "uint64"],
    [[0, 2n ** 64n - 1n], "uint64"],
  ])("%o are %s", (leaves, dtype) => {
    expect(choose(leaves)).toBe(dtype);
  });

  test.each<[DType, Leaf, boolean]>([
    ["uint8", 255, true],
    ["uint8", 256, false],
    ["int8", -128, true],
    ["int8", -129, false],
    ["uint32", 2n ** 32n - 1n, true],
    ["uint32", 2n ** 32n, false],
    ["int64", 2n ** 63n - 1n, true],
    ["uint64", 2n ** 64n - 1n, true],
    ["uint64", -1n, false],
    ["int64", 2 ** 53 - 1, true],
    ["int64", 2 ** 53, false],
    ["uint64", 2 ** 63, false],
  ])("%s takes %o: %s", (wanted, leaf, takes) => {
    expect(choose([leaf], wanted) === wanted).toBe(takes);
  });
});

describe("integers that no dtype holds are refused by their place", () => {
  test.each<[Leaf[], number[], string]>([
    [[2n ** 64n], [], "x is 18446744073709551616, but the integers in x fit neither int64"],
    [[1n, -(2n ** 63n) - 1n], [2], "x[1] is -9223372036854775809, but the integers in x fit neither int64"],
    [[1, 2n ** 70n, 3, 4], [2, 2], "x[0][1] is 1180591620717411303424, but"],
    [[2n ** 63n, -1n], [2], "x[1] is -1, but the integers in x fit neither int64 (-2^63 to 2^63-1) nor uint64"],
  ])("%o", (leaves, shape, message) => {
    expect(() => choose(leaves, undefined, shape)).toThrow(message);
  });

  test.each(["int64", "uint64", "float32"] as const)("also where the model takes %s", (wanted) => {
    expect(() => choose([2n ** 70n], wanted)).toThrow("x[0] is 1180591620717411303424");
  });
});

describe("a finite number that would become infinite", () => {
  test.each<[DType | undefined]>([[undefined], ["float32"], ["float16"], ["bfloat16"], ["int32"]])(
    "is refused by its place where the model takes %s",
    (wanted) => {
      expect(() => choose([0.5, 1, -1e300, 2], wanted, [2, 2])).toThrow(
        "x[1][0] is -1e+300, which float32 would make infinite; give a Float64Array or a float64 tensor.",
      );
    },
  );

  test("is taken where the model takes float64, and so are the largest float32 and infinity by float32", () => {
    expect(choose([1e300], "float64")).toBe("float64");
    expect(choose([3.4028234663852886e38, Infinity, Number.NaN])).toBe("float32");
  });
});
