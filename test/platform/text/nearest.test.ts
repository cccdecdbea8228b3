import { expect, test } from "vitest";
import { didYouMean, misspelt, nearest } from "../../../src/platform/text/nearest.ts";

test.each([
  ["predcit", "predict"],
  ["PREDICT", "predict"],
  ["ports", "port"],
  ["nothing like it", undefined],
])("the name nearest to %j is %j", (name, expected) => {
  expect(nearest(name, ["predict", "port"])).toBe(expected);
});

test.each([
  ["zpi", "zip"],
  ["ZIPP", "zip"],
  ["zi", "zip"],
  ["id", undefined],
  ["zoo", undefined],
  ["x", undefined],
  ["streat", "street"],
  ["", undefined],
])("%j is no other name than %j", (name, expected) => {
  expect(misspelt(name, ["zip", "street", "y"])).toBe(expected);
});

test("letters that are several in small are compared to their end", () => {
  expect(nearest("\u0130".repeat(100), ["\u0130".repeat(99), "x".repeat(99)])).toBe("\u0130".repeat(99));
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

test("thousands of known names cost little time, and hide none that is near among others", { timeout: 10_000 }, () => {
  const long = Array.from({ length: 100_000 }, (_, at) => `${at}`.padEnd(99, "ab"));
  expect(nearest("modle", [...long, "model"])).toBe("model");
  for (let request = 0; request < 100; request++) expect(nearest("x".repeat(99), long)).toBeUndefined();
});
