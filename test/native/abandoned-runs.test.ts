import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AbandonedRuns } from "../../src/native/abandoned-runs.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const endless = () => new Promise(() => {});

test("abandoned runs that hold every turn for the grace period are reported", () => {
  const onStuck = vi.fn();
  const runs = new AbandonedRuns({ limit: 2, graceMs: 1000, onStuck });
  runs.add(endless());
  vi.advanceTimersByTime(5000);
  runs.add(endless());
  vi.advanceTimersByTime(999);
  expect(onStuck).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onStuck).toHaveBeenCalledOnce();
});

test("the report is taken back, once, when one of the runs ends after all", async () => {
  const [onStuck, onFreed] = [vi.fn(), vi.fn()];
  const runs = new AbandonedRuns({ limit: 1, graceMs: 1000, onStuck, onFreed });
  let end = () => {};
  const run = new Promise<void>((resolve) => {
    end = resolve;
  });
  runs.add(run);
  vi.advanceTimersByTime(1000);
  expect(onStuck).toHaveBeenCalledOnce();
  expect(onFreed).not.toHaveBeenCalled();
  end();
  await run;
  const quick = Promise.resolve();
  runs.add(quick);
  await quick;
  expect(onFreed).toHaveBeenCalledOnce();
});

test("abandoned runs of which one ends in time are not", async () => {
  const onStuck = vi.fn();
  const runs = new AbandonedRuns({ limit: 2, graceMs: 1000, onStuck });
  const failed = Promise.reject(new Error("cancelled"));
  runs.add(endless());
  runs.add(failed);
  await expect(failed).rejects.toThrow();
  vi.advanceTimersByTime(5000);
  expect(onStuck).not.toHaveBeenCalled();
});
