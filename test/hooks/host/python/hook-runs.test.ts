import { expect, test } from "vitest";
import { HookRuns } from "../../../../src/hooks/host/python/hook-runs.ts";

const LIMITS = { timeoutMs: 0, place: "process", onStuck: () => {} };

test("a hook that cannot be asked leaves its turn to the next", async () => {
  const runs = new HookRuns();
  const failing = runs.run(() => {
    throw new RangeError("too large");
  }, LIMITS);
  await expect(failing).rejects.toThrow("too large");
  expect(await runs.run(() => ({ number: 1, answer: Promise.resolve("next") }), LIMITS)).toBe("next");
});
