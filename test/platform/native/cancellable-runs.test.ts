import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { AbandonedRuns, RunLimit } from "../../../src/platform/native/cancellable-runs.ts";

describe("AbandonedRuns", () => {
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
});

/** A task that ends when it is told to. */
function createTask() {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let started = false;
  const task = async () => {
    started = true;
    await ended;
  };
  return { task, end, hasStarted: () => started };
}

test("lets as many tasks run at once as the limit says, the others in their order", async () => {
  const limit = new RunLimit(2);
  const tasks = Array.from({ length: 4 }, createTask);
  const runs = tasks.map(({ task }) => limit.run(task));
  const started = () => tasks.map(({ hasStarted }) => hasStarted());
  expect(started()).toEqual([true, true, false, false]);
  tasks[1]?.end();
  await runs[1];
  expect(started()).toEqual([true, true, true, false]);
  for (const { end } of tasks) end();
  await Promise.all(runs);
  expect(limit.isIdle).toBe(true);
});

test("passes the turn on when a task fails", async () => {
  const limit = new RunLimit(1);
  const failing = limit.run(() => Promise.reject(new Error("no")));
  const next = limit.run(async () => "next");
  await expect(failing).rejects.toThrow("no");
  expect(await next).toBe("next");
});

test("lets go of a task whose signal aborts while it waits", async () => {
  const limit = new RunLimit(1);
  const [first, given, last] = [createTask(), createTask(), createTask()];
  const running = limit.run(first.task);
  const cancel = new AbortController();
  const waiting = limit.run(given.task, cancel.signal);
  const behind = limit.run(last.task, cancel.signal);
  cancel.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  await expect(behind).rejects.toThrow("gone");
  first.end();
  await running;
  expect([given.hasStarted(), last.hasStarted(), limit.isIdle]).toEqual([false, false, true]);
});

test("is idle once nothing runs and nothing waits", async () => {
  const limit = new RunLimit(1);
  await limit.idle();
  const done: number[] = [];
  for (const value of [1, 2]) void limit.run(async () => void done.push(value));
  await limit.idle();
  expect(done).toEqual([1, 2]);
});
