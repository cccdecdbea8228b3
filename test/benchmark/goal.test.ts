import { expect, test } from "vitest";
import { meets, parseGoal } from "../../src/benchmark/goal.ts";

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
