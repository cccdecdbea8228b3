import { expect, test } from "vitest";
import { DTYPES, integerRange, numericLayout } from "../../src/tensor/dtype.ts";

test("the range of every integer dtype is what its typed array wraps around at", () => {
  for (const dtype of DTYPES) {
    if (!/^u?int/.test(dtype)) {
      expect(integerRange(dtype)).toBeUndefined();
      continue;
    }
    const [first, end] = (integerRange(dtype) as readonly number[]).map(BigInt) as [bigint, bigint];
    const { array } = numericLayout(dtype as "uint8");
    const wrapped = array.name.startsWith("Big") ? (value: bigint) => value : Number;
    const data = new array(3) as unknown as { [index: number]: unknown };
    for (const [index, value] of [first, end - 1n, end].entries()) data[index] = wrapped(value);
    expect(Array.from(data as ArrayLike<number>, BigInt)).toEqual([first, end - 1n, first]);
  }
});
