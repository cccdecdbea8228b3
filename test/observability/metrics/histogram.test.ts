import { expect, test } from "vitest";
import { Histogram, sumHistograms } from "../../../src/observability/metrics/histogram.ts";

test("a value belongs to the first range whose bound it does not pass", () => {
  const histogram = new Histogram([1, 10]);
  for (const value of [0, 1, 1.5, 10, 11, Number.POSITIVE_INFINITY]) histogram.observe(value);
  expect(histogram.counts).toEqual([2, 2, 2]);
});

test("several values of one size count like one after the other", () => {
  const histogram = new Histogram([1, 10]);
  histogram.observe(4, 3);
  expect([histogram.counts, histogram.sum, histogram.isEmpty]).toEqual([[0, 3, 0], 12, false]);
});

test("histograms add up, with the sum of none among them", () => {
  const part = { counts: [1, 2], sum: 5 };
  expect(sumHistograms([sumHistograms([]), part, part])).toEqual({ counts: [2, 4], sum: 10 });
  expect(sumHistograms([])).toEqual({ counts: [], sum: 0 });
});
