import { expect, test } from "vitest";
import { parseCounts, parseLevels } from "../../src/benchmark/parse-levels.ts";

test.each([
  ["8", [8]],
  ["1,4,16", [1, 4, 16]],
  ["1:32", [1, 2, 4, 8, 16, 32]],
  ["3:20", [3, 6, 12, 20]],
  ["10:50:20", [10, 30, 50]],
  ["0.5:2:0.5", [0.5, 1, 1.5, 2]],
])("%s is a sweep of %j", (text, levels) => {
  expect(parseLevels("--rate", text)).toEqual(levels);
});

test.each(["", "0", "-1", "4,2", "1,,2", "8:1", "0:8", "1:8:0", "1:1000:1", "a", "1:2:3:4", "Infinity"])(
  "%j is no sweep",
  (text) => {
    expect(() => parseLevels("--rate", text)).toThrow(`--rate is "${text}"; expected`);
  },
);

test("requests at a time are whole numbers", () => {
  expect(parseCounts("--concurrency", "1:4")).toEqual([1, 2, 4]);
  expect(() => parseCounts("--concurrency", "1.5")).toThrow("expected whole numbers");
});
