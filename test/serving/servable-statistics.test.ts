import { expect, test } from "vitest";
import { sumStatistics } from "../../src/models/queue/run-statistics.ts";
import type { Servable } from "../../src/serving/servable.ts";
import { PastStatistics } from "../../src/serving/servable-statistics.ts";

/** A servable that has lost so many threads. */
function servable(hook: number, model: number): Servable {
  const threads = { hook: { ready: 1, missing: 0, lost: hook }, model: { ready: 2, missing: 1, lost: model } };
  return { statistics: async () => ({ runs: sumStatistics([]), hooks: [], threads }) } as unknown as Servable;
}

test("threads that were lost count on where a model is unloaded and loaded again", async () => {
  const past = new PastStatistics();
  await past.keep(servable(1, 2));
  const gone = { ready: 0, missing: 0 };
  expect((await past.sumWith(undefined)).threads).toEqual({ hook: { ...gone, lost: 1 }, model: { ...gone, lost: 2 } });
  expect((await past.sumWith(servable(3, 0))).threads).toEqual({
    hook: { ready: 1, missing: 0, lost: 4 },
    model: { ready: 2, missing: 1, lost: 2 },
  });
});
