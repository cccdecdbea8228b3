import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { paretoPoints, toTuningLines } from "../../../src/cli/commands/tune-command.ts";
import { parseGoal } from "../../../src/tools/benchmark/bench-flags.ts";
import type { LevelResult } from "../../../src/tools/benchmark/measure/level.ts";
import { bestLevel, bestTrial, nearestTrial, type Trial } from "../../../src/tools/tuning/trial.ts";
import { runCommand } from "./run-command.ts";

const half = fileURLToPath(new URL("../../fixtures/models/half-plus-two.onnx", import.meta.url));

test.each([
  [[half, "--goal", "20ms"], 2, "expected a latency with its bound"],
  [["none.onnx", "--driver", "onnx"], 1, 'No driver runs the model; onnx: The model "'],
  [["none.onnx"], 1, "No driver runs the model; onnx, openvino: The model"],
  [["localhost:9001"], 2, "kserving bench http://localhost:9001/v2/models/NAME measures"],
  [[half, "--shape", "y=1", "--driver", "onnx"], 1, 'onnx: --shape names the input "y"; the model has x.'],
] as const)("tune %j ends with %i", async (args, code, message) => {
  const outcome = await runCommand(["tune", ...args]);
  expect([outcome.code, outcome.stderr]).toEqual([code, expect.stringContaining(message)]);
});

test("without a driver that runs the model there is nothing but the reason", async () => {
  expect(await runCommand(["tune", "none.onnx"])).toMatchObject({ code: 1, stdout: "" });
});

const LEVEL: LevelResult = {
  ...{ concurrency: 1, requestsPerSecond: 100, failures: {}, requests: 100, seconds: 1, windows: [], distribution: [] },
  latencyMs: { mean: 1, p50: 1, p90: 1, p95: 1, p99: 1, max: 1 },
  ...{ isStable: true, clientShare: 0.1, backlog: 0 },
};
const MODEL = { name: "m", path: "m.onnx", options: {} };
const best: Trial = { candidate: { driver: "onnx", options: {} }, levels: [LEVEL] };
const slower: Trial = { candidate: { driver: "openvino", options: {} }, levels: [{ ...LEVEL, requestsPerSecond: 1 }] };
const refused: Trial = { candidate: { driver: "tensorflow", options: {} }, levels: [], problem: "It is no model." };
const late = { driver: "onnx", threads: 1, options: {} };

test.each([
  ["best", [best, slower, refused], [], "The defaults are best."],
  ["best as far as known", [best, slower], [late], "The defaults are best of what there was time for."],
  ["alone", [best, refused], [late], "There was time for the defaults alone; give more by --time."],
])("tune says that the defaults are %s", (_, trials, untried, verdict) => {
  expect(toTuningLines({ trials, best, untried }, MODEL, undefined)).toContain(verdict);
});

test("tune names a setting whose requests fail", () => {
  const failing: Trial = {
    candidate: { driver: "onnx", options: { max_batch_size: "4" } },
    levels: [LEVEL, { ...LEVEL, concurrency: 2, failures: { "gRPC status 3: no": 7 } }],
  };
  expect(toTuningLines({ trials: [best, failing], best, untried: [] }, MODEL, undefined)).toContain(
    "failed: onnx, max_batch_size=4: 7 requests at concurrency 2: gRPC status 3: no",
  );
});

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
