import { expect, test } from "vitest";
import { didYouMean, nearest } from "../../src/text/nearest.ts";

test.each([
  ["predcit", "predict"],
  ["PREDICT", "predict"],
  ["ports", "port"],
  ["nothing like it", undefined],
])("the name nearest to %j is %j", (name, expected) => {
  expect(nearest(name, ["predict", "port"])).toBe(expected);
});

test("a suggestion is a sentence, or nothing", () => {
  expect(didYouMean("prot", ["port"])).toBe(' Did you mean "port"?');
  expect(didYouMean("x", ["port"])).toBe("");
});

test("absurdly long names cost no time", { timeout: 10_000 }, () => {
  const huge = "a".repeat(5_000_000);
  expect(nearest(huge, ["a".repeat(90), huge])).toBeUndefined();
  expect(nearest("a".repeat(100), [huge, "a".repeat(99)])).toBe("a".repeat(99));
});
