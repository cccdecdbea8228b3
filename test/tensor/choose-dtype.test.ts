import { describe, expect, test } from "vitest";
import { chooseDType, type Leaf } from "../../src/tensor/choose-dtype.ts";
import type { DType } from "../../src/tensor/dtype.ts";

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
