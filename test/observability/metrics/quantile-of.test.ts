import { expect, test } from "vitest";
import { quantileOf } from "../../../src/observability/metrics/histogram.ts";

const BOUNDS = [1, 2, 4];

test.each([
  [[4, 0, 0, 0], 0.5, 0.5],
  [[0, 4, 0, 0], 0.5, 1.5],
  [[1, 1, 2, 0], 0.75, 3],
  [[0, 0, 0, 3], 0.5, 4],
  [[2, 0, 0, 2], 0.99, 4],
  [[0, 0, 0, 0], 0.5, undefined],
])("of counts %j, %d of the values are up to %d", (counts, part, value) => {
  expect(quantileOf(counts, BOUNDS, part)).toBe(value);
});
