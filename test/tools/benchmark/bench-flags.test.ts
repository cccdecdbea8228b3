import { expect, test } from "vitest";
import { meets, parseCounts, parseGoal, parseLevels } from "../../../src/tools/benchmark/bench-flags.ts";

const latencyMs = { mean: 1, p50: 1, p90: 2, p95: 3, p99: 4, max: 9 };

test("a goal bounds one figure, in its own unit", () => {
  expect(parseGoal("p99=20ms")).toEqual({ text: "p99=20ms", figure: "p99", maxMs: 20 });
  expect([parseGoal("mean=250us").maxMs, parseGoal("max=1.5s").maxMs]).toEqual([0.25, 1500]);
});

test("a level meets a goal up to its bound, and none without an answer", () => {
  expect(["p99=4ms", "p99=3ms", "max=9ms"].map((text) => meets({ latencyMs }, parseGoal(text)))).toEqual([
    true,
    false,
    true,
  ]);
  expect(meets({}, parseGoal("p99=1s"))).toBe(false);
});

test.each(["", "p99", "p99=20", "p98=20ms", "p99=0ms", "p99=-1ms", "toString=1ms"])("%j is no goal", (text) => {
  expect(() => parseGoal(text)).toThrow("expected a latency with its bound, such as p99=20ms");
});

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
