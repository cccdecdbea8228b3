import { expect, test } from "vitest";
import { ConcurrencyGate } from "../../src/model-host/concurrency-gate.ts";

/** A task that ends when told to. */
function manualTask() {
  let finish = () => {};
  const done = new Promise<void>((resolve) => {
    finish = resolve;
  });
  return { run: () => done, finish };
}

const never = new AbortController().signal;

test("no more tasks overlap than the limit, in the order they came", async () => {
  const gate = new ConcurrencyGate(2);
  const tasks = [manualTask(), manualTask(), manualTask(), manualTask()];
  const started: number[] = [];
  const runs = tasks.map((task, index) =>
    gate.run(never, () => {
      started.push(index);
      return task.run();
    }),
  );
  await Promise.resolve();
  expect(started).toEqual([0, 1]);
  tasks[1]?.finish();
  await runs[1];
  expect(started).toEqual([0, 1, 2]);
  for (const task of tasks) task.finish();
  await Promise.all(runs);
  expect(started).toEqual([0, 1, 2, 3]);
});

test("a waiting task leaves the queue when its signal aborts, and the next one still runs", async () => {
  const gate = new ConcurrencyGate(1);
  const first = manualTask();
  const running = gate.run(never, first.run);
  const abort = new AbortController();
  let ran = false;
  const waiting = gate.run(abort.signal, async () => {
    ran = true;
  });
  const third = gate.run(never, async () => "third");
  abort.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  first.finish();
  await running;
  expect(await third).toBe("third");
  expect(ran).toBe(false);
});

test("a task that fails gives its place to the next", async () => {
  const gate = new ConcurrencyGate(1);
  const failing = gate.run(never, () => Promise.reject(new Error("broken")));
  const next = gate.run(never, async () => "next");
  await expect(failing).rejects.toThrow("broken");
  expect(await next).toBe("next");
});

test("idle waits for what runs and what waits", async () => {
  const gate = new ConcurrencyGate(1);
  await gate.idle();
  const tasks = [manualTask(), manualTask()];
  const runs = tasks.map((task) => gate.run(never, task.run));
  let idle = false;
  const idling = gate.idle().then(() => {
    idle = true;
  });
  tasks[0]?.finish();
  await runs[0];
  expect(idle).toBe(false);
  tasks[1]?.finish();
  await idling;
  expect(idle).toBe(true);
});
