import { readFileSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import { type HookHistory, makeHookHistory } from "../hooks/hook-history.ts";
import { simulateHooks } from "../hooks/hook-scene.ts";
import { makeQueueHistory } from "../queue/queue-history.ts";
import { simulateQueue } from "../queue/queue-scene.ts";
import { THREAD_MUTANTS } from "./mutants.ts";

const SIMULATIONS = [
  { of: "queue", seeds: 15, run: (seed: number) => simulateQueue(makeQueueHistory(seed)) },
  { of: "hooks", seeds: 15, run: (seed: number) => simulateHooks(makeHookHistory(seed, { parted: false })) },
  { of: "streams", seeds: 5, run: (seed: number) => simulateHooks(makeHookHistory(seed, { parted: true })) },
] as const;

describe.each(SIMULATIONS)("$of, through histories that chance makes", ({ of, seeds, run }) => {
  it(`keeps all promises in the first ${seeds} of them`, async () => {
    const broken: string[] = [];
    for (let seed = 1; seed <= seeds; seed++) {
      const [first] = (await run(seed)).violations;
      if (first !== undefined) broken.push(`npm run check -- simulation --of ${of} --seed ${seed}: ${first.message}`);
    }
    expect(broken).toEqual([]);
  }, 180_000);

  it("is the same each time", async () => {
    const [one, other] = [await run(3), await run(3)];
    expect(one.trace.length).toBeGreaterThan(20);
    expect(other.trace).toEqual(one.trace);
  });
});

test.each(THREAD_MUTANTS)("a server that $what can be made", ({ file, from }) => {
  const text = readFileSync(new URL(`../../../src/${file}`, import.meta.url), "utf8");
  expect(text.split(from)).toHaveLength(2);
});

describe("a fault that was mended", () => {
  const calm: Omit<HookHistory, "commands"> = {
    ...{ seed: 1, workers: 1, parted: "no", loads: 0, concurrency: 1, hookTimeoutMs: 0 },
    ...{ delays: [1], partMs: [0], partBytes: Number.POSITIVE_INFINITY, runEnds: {}, startEnds: {} },
  };

  test("a client that leaves is not held until a thread ends whose connection broke", async () => {
    const report = await simulateHooks({
      ...{ ...calm, delays: [10], runEnds: { ok: 0, closes: 1e6 } },
      commands: [
        { at: 0, id: 0, do: "ask", client: 1, kind: "x" },
        { at: 5, id: 1, do: "ask", client: 2, kind: "x", leavesAfterMs: 100 },
      ],
    });
    expect(report.violations).toEqual([]);
    expect(Object.fromEntries(report.ends)).toEqual({ cancelled: 1, unavailable: 1 });
  });

  test("a thread that hung frees no model before its clients have left it", async () => {
    for (const seed of [168, 245]) expect((await simulateQueue(makeQueueHistory(seed))).violations).toEqual([]);
  });
});
