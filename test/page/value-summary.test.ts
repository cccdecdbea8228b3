import { expect, test } from "vitest";
import { differencesOf, summaryOf } from "../../src/page/value-summary.ts";
import { indexText } from "../../src/tensor/elements.ts";

const output = (values: readonly (number | bigint | boolean | string)[], datatype = "FP32", name = "y") => ({
  ...{ name, datatype, shape: [values.length], values },
});

test("numbers are summarised by those that are finite", () => {
  const found = summaryOf(output([3, Number.NaN, -1, 7, Number.POSITIVE_INFINITY, 7]));
  expect(found).toMatchObject({ low: -1, high: 7, mean: 4, greatest: 3, others: 2 });
  expect([found?.parts.length, found?.parts.at(0), found?.parts.at(-1)]).toEqual([24, 1, 2]);
  expect(found?.parts.reduce((sum, count) => sum + count)).toBe(4);
});

test.each([
  ["equal numbers", [2, 2, 2], "FP32", { low: 2, high: 2, mean: 2, parts: [3] }],
  [
    "numbers from the least to the greatest that there is",
    [-1.7e308, 1.7e308],
    "FP64",
    { low: -1.7e308, high: 1.7e308 },
  ],
  ["whole numbers of 64 bits", [5n, -3n], "INT64", { low: -3, high: 5, mean: 1, greatest: 0 }],
  ["true and false", [false, true, true, true], "BOOL", { low: 0, high: 1, mean: 0.75, greatest: 1 }],
])("%s have a summary", (_, values, datatype, expected) => {
  const found = summaryOf(output(values, datatype));
  expect(found).toMatchObject(expected);
  expect(found?.parts.reduce((sum, count) => sum + count)).toBe(values.length);
});

test("texts, nothing, and numbers of which none is finite have no summary", () => {
  expect(summaryOf(output(["a"], "BYTES"))).toBeUndefined();
  expect(summaryOf(output([]))).toBeUndefined();
  expect(summaryOf(output([Number.NaN]))).toBeUndefined();
});

test("the place of an element has an index for each size", () => {
  expect([indexText(0, []), indexText(5, [6]), indexText(17, [2, 3, 4])]).toEqual(["[]", "[5]", "[1, 1, 1]"]);
});

test("two answers are compared output by output", () => {
  const first = [output([1, 2, 3]), output(["a", "b"], "BYTES", "text"), output([1], "FP32", "old")];
  const second = [output([1, 2.5, 3]), output(["a", "c"], "BYTES", "text"), output([1], "FP32", "new")];
  expect(differencesOf(first, second)).toEqual([
    { name: "y", greatest: { value: 0.5, place: 1, shape: [3] } },
    { name: "text", note: "1 of 2 differ" },
    { name: "old", note: "only the first answers it" },
    { name: "new", note: "only the second answers it" },
  ]);
  expect(differencesOf([output([1])], [output([1], "FP64", "z")])).toEqual([{ name: "y, z", note: "equal" }]);
  expect(differencesOf([output([1])], [output([1, 2])])).toEqual([{ name: "y", note: "the shapes are [1] and [2]" }]);
});

test("a number is infinitely far from what is none, and whole numbers of 64 bits are told apart", () => {
  const greatestOf = (one: readonly (number | bigint)[], other: readonly (number | bigint)[]) =>
    differencesOf([output(one)], [output(other)])[0]?.greatest?.value;
  expect(greatestOf([Number.NaN, 1], [Number.NaN, Number.NaN])).toBe(Number.POSITIVE_INFINITY);
  expect(greatestOf([Number.NaN, Number.POSITIVE_INFINITY], [Number.NaN, Number.POSITIVE_INFINITY])).toBeUndefined();
  expect(greatestOf([9007199254740993n], [9007199254740992n])).toBe(1);
});
