import { describe, expect, test } from "vitest";
import { fromBfloat16, fromFloat16, overflowOf, overflows, toBfloat16, toFloat16 } from "../../src/tensor/float16.ts";

const allPatterns = Array.from({ length: 65536 }, (_, bits) => bits);

describe("half precision", () => {
  test("keeps every pattern through number and back", () => {
    const changed = allPatterns.filter((bits) => {
      const value = fromFloat16(bits);
      return !Number.isNaN(value) && toFloat16(value) !== bits;
    });
    expect(changed).toEqual([]);
  });

  test.each([
    [1, 0x3c00],
    [-2, 0xc000],
    [65504, 0x7bff],
    [65519, 0x7bff],
    [65520, 0x7c00],
    [-Infinity, 0xfc00],
    [2 ** -24, 1],
    [2 ** -25, 0],
    [-0, 0x8000],
    [1 + 2 ** -11, 0x3c00],
    [1 + 3 * 2 ** -11, 0x3c02],
  ])("rounds %d to the nearest, ties to even", (value, bits) => {
    expect(toFloat16(value)).toBe(bits);
  });

  test("keeps NaN", () => {
    expect(fromFloat16(toFloat16(Number.NaN))).toBeNaN();
  });

  test("rounds any number to its nearest neighbour", () => {
    const neighbours = allPatterns.slice(0, 0x7c00).map(fromFloat16);
    for (let k = 0; k < 5000; k++) {
      const value = 2 ** (Math.sin(k) * 20 - 6);
      const rounded = fromFloat16(toFloat16(value));
      const bits = toFloat16(value);
      if (bits >= 0x7bff) continue;
      const distance = Math.abs(rounded - value);
      expect(distance).toBeLessThanOrEqual(Math.abs((neighbours[bits + 1] as number) - value));
      if (bits > 0) expect(distance).toBeLessThanOrEqual(Math.abs((neighbours[bits - 1] as number) - value));
    }
  });
});

describe("bfloat16", () => {
  test("keeps every pattern through number and back", () => {
    const changed = allPatterns.filter((bits) => {
      const value = fromBfloat16(bits);
      return !Number.isNaN(value) && toBfloat16(value) !== bits;
    });
    expect(changed).toEqual([]);
  });

  test.each([
    [1, 0x3f80],
    [1 + 2 ** -8, 0x3f80],
    [1 + 3 * 2 ** -8, 0x3f82],
    [3.4e38, 0x7f80],
    [3.39e38, 0x7f7f],
    [1e300, 0x7f80],
    [-Infinity, 0xff80],
    [-1e-60, 0x8000],
  ])("rounds %d", (value, bits) => {
    expect(toBfloat16(value)).toBe(bits);
  });

  test("rounds a double once: beside a tie it has one nearest neighbour, which float32 would make two", () => {
    const wrong = allPatterns.slice(0, 0x7f7f).filter((bits) => {
      const tie = (fromBfloat16(bits) + fromBfloat16(bits + 1)) / 2;
      const [below, above] = [tie * (1 - 2 ** -45), tie * (1 + 2 ** -45)];
      return (
        toBfloat16(below) !== bits || toBfloat16(above) !== bits + 1 || toBfloat16(-above) !== ((bits + 1) | 0x8000)
      );
    });
    expect(wrong).toEqual([]);
    expect(fromBfloat16(toBfloat16(1.00390625000001))).toBe(1.0078125);
  });
});

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
