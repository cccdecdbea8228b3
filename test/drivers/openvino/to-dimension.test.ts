import { expect, test } from "vitest";
import { toDimension } from "../../../src/drivers/openvino/to-dimension.ts";

test.each([
  ["one size", [4, 4], 4],
  ["a range", [1, 8], { min: 1, max: 8 }],
  ["any size", [0, -1], -1],
  ["any size that the type holds", [0, 2 ** 31 - 1], -1],
  ["any size of 64 bits", [1, 2 ** 63], -1],
] as const)("bounds of %s", (_, [min, max], dimension) => {
  expect(toDimension(min, max)).toEqual(dimension);
});
