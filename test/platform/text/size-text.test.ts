import { expect, it, test } from "vitest";
import { megabytes, sizeText, toFixedPoint } from "../../../src/platform/text/size-text.ts";

it.each([
  [0, "0 bytes"],
  [1023, "1023 bytes"],
  [1536, "1.5 KB"],
  [12 * 2 ** 20, "12 MB"],
  [2 ** 30, "1 GB"],
  [2 ** 60, "1048576 TB"],
])("%d is %s", (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});

test.each([
  [0, "0.0 MB"],
  [12_345_678, "12.3 MB"],
  [853_000_000, "853 MB"],
])("%d bytes are %s", (bytes, text) => {
  expect(megabytes(bytes)).toBe(text);
});

test.each([
  [1.5, 6, "1.500000"],
  [-2, 0, "-2"],
  [0, 6, "0.000000"],
  [-0, 6, "-0.000000"],
  [-1e-9, 6, "-0.000000"],
  [0.5, 0, "0"],
  [1.5, 0, "2"],
  [2.5, 0, "2"],
  [0.0078125, 6, "0.007812"],
  [0.0078125 + 2 ** -59, 6, "0.007813"],
  [-0.0234375, 6, "-0.023438"],
  [1.005, 2, "1.00"],
  [0.1, 20, "0.10000000000000000555"],
  [1e21 - 2 ** 17, 1, "999999999999999868928.0"],
  [1e21, 6, "1000000000000000000000.000000"],
  [-1e22, 0, "-10000000000000000000000"],
  [Math.fround(3.4e38), 2, "339999995214436424907732413799364296704.00"],
  [Infinity, 6, "inf"],
  [-Infinity, 6, "-inf"],
  [Number.NaN, 6, "nan"],
])("%d with %d digits is %s", (value, digits, text) => {
  expect(toFixedPoint(value, digits)).toBe(text);
});
