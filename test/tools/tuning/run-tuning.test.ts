import { expect, test, vi } from "vitest";
import { toTuningLines } from "../../../src/cli/commands/tune-command.ts";
import { parseGoal } from "../../../src/tools/benchmark/bench-flags.ts";
import type { LevelResult } from "../../../src/tools/benchmark/measure/level.ts";
import { measureLevel } from "../../../src/tools/benchmark/measure/measure-level.ts";
import { runTuning } from "../../../src/tools/tuning/run-tuning.ts";

vi.mock("../../../src/tools/benchmark/measure/measure-level.ts", () => ({ measureLevel: vi.fn() }));

/** A level with so many requests per second. */
function level(requestsPerSecond: number, { ms = 1, failures = {} } = {}): LevelResult {
  return {
    ...{ concurrency: 1, requestsPerSecond, failures, requests: 100, seconds: 1, distribution: [] },
    windows: [{ requestsPerSecond, p50Ms: ms, p99Ms: ms }],
    latencyMs: { mean: ms, p50: ms, p90: ms, p95: ms, p99: ms, max: ms },
    ...{ isStable: true, clientShare: 0.1, backlog: 0 },
  };
}

/** Tunes with two drivers. The second is twice as fast at first; `again` = what it does when measured again. */
async function tune(again: LevelResult | Error, goal = parseGoal("p99=10ms")) {
  let opened = 0;
  vi.mocked(measureLevel).mockImplementation(async ({ origin }, { concurrency = 1 }) => {
    const [name, turn] = origin.split(" ");
    const isAgain = name === "fast" && Number(turn) > 2;
    if (concurrency > 1) return level(1, { ms: 50 });
    return isAgain ? (again as LevelResult) : level(name === "fast" ? 200 : 100);
  });
  const outcome = await runTuning({
    ...{ drivers: ["slow", "fast"], cores: 0, seconds: 60, goal, signal: new AbortController().signal },
    onProgress: () => {},
    open: async ({ driver }) => {
      opened++;
      if (opened > 2 && driver === "fast" && again instanceof Error) throw again;
      const load = { protocol: "grpc", origin: `${driver} ${opened}`, path: "", headers: {}, connections: 1 } as const;
      return { load: { ...load, body: Buffer.alloc(0) }, address: "", hasOpenRows: false, close: async () => {} };
    },
  });
  const lines = toTuningLines(outcome, { name: "m", path: "m.onnx", options: {} }, goal).join("\n");
  return { best: outcome.best?.candidate.driver, lines };
}

test.each([
  ["is no faster", level(101), "fast has brought no more when measured again."],
  ["fails", level(400, { failures: { "status 503": 1 } }), "fast had requests that failed when measured again."],
  ["cannot be served", new Error("Out of memory."), "fast could not be served again: Out of memory."],
])("one that %s when measured again is not the best, for programs too", async (_, again, why) => {
  const { best, lines } = await tune(again);
  expect([best, lines]).toEqual(["slow", expect.stringContaining(`The defaults are best: ${why}`)]);
});

test("one that is faster again is the best, and a goal that it misses by then is close", async () => {
  const { best, lines } = await tune(level(190));
  expect([best, lines]).toEqual(["fast", expect.stringContaining("190 requests/s instead of 100")]);
  expect(lines).not.toContain("is close");
  expect((await tune(level(190, { ms: 11 }))).lines).toContain("p99=10ms is close: it was missed when measured again.");
});
