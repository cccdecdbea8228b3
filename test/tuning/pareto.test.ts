import { expect, test } from "vitest";
import { parseGoal } from "../../src/benchmark/goal.ts";
import type { LevelResult } from "../../src/benchmark/measure/level.ts";
import { paretoPoints } from "../../src/tuning/pareto.ts";
import { bestLevel, bestTrial, nearestTrial, type Trial } from "../../src/tuning/trial.ts";

/** A level with so many requests per second and one latency for all. */
function level(concurrency: number, requestsPerSecond: number, ms: number, failures = {}): LevelResult {
  return {
    ...{ concurrency, requestsPerSecond, failures, requests: 100, seconds: 1, windows: [], distribution: [] },
    latencyMs: { mean: ms, p50: ms, p90: ms, p95: ms, p99: ms, max: ms },
    ...{ isStable: true, clientShare: 0.1, backlog: 0 },
  };
}

const trial = (driver: string, ...levels: LevelResult[]): Trial => ({ candidate: { driver, options: {} }, levels });
const defaults = trial("onnx", level(1, 100, 10), level(2, 120, 17), level(4, 121, 33));
const other = trial("openvino", level(1, 90, 11), level(2, 150, 13), level(4, 400, 9, { "status 503": 1 }));

test("a point that another exceeds in throughput at no higher latency, or with failures, is not among the best", () => {
  const points = paretoPoints([defaults, other], "p99");
  expect(points.map(({ candidate, level }) => [candidate.driver, level.requestsPerSecond])).toEqual([
    ["onnx", 100],
    ["openvino", 150],
  ]);
});

test("the best is the fastest within the goal, without failed requests", () => {
  expect(bestTrial([defaults, other], undefined)).toBe(other);
  expect(bestLevel(other, undefined)?.requestsPerSecond).toBe(150);
  expect(bestTrial([defaults, other], parseGoal("p99=12ms"))).toBe(defaults);
  expect(bestTrial([defaults, other], parseGoal("p99=5ms"))).toBeUndefined();
  expect(nearestTrial([defaults, trial("openvino", level(1, 90, 8))], parseGoal("p99=5ms"))?.candidate.driver).toBe(
    "openvino",
  );
});

test("a gain within the noise leaves the simpler candidate, which came first", () => {
  expect(bestTrial([defaults, trial("openvino", level(4, 123, 32))], undefined)).toBe(defaults);
});
