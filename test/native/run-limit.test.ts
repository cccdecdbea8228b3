import { expect, test } from "vitest";
import { RunLimit } from "../../src/native/run-limit.ts";

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
