import { expect, test } from "vitest";
import type { LevelResult } from "../../src/benchmark/measure/level.ts";
import type { Trial } from "../../src/tuning/trial.ts";
import { toTuningLines } from "../../src/tuning/tuning-lines.ts";

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
