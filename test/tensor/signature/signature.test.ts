import { expect, test } from "vitest";
import { type Dimension, fitsShape } from "../../../src/tensor/signature/signature.ts";

const ALLOWED: readonly Dimension[] = [-1, 3, { min: 2, max: 8 }];

test.each([
  [[0, 3, 2], true],
  [[100, 3, 8], true],
  [[1, 4, 2], false],
  [[1, 3, 1], false],
  [[1, 3, 9], false],
  [[1, 3], false],
  [[1, 3, 2, 1], false],
])("[any, 3, 2..8] allows %j: %j", (shape, fits) => {
  expect(fitsShape(shape, ALLOWED)).toBe(fits);
});
