import { once } from "node:events";
import type { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { endWaitingWorker, startWaitingWorker, takeWorker } from "../../../src/models/threads/waiting-worker.ts";

test("the thread that waits is taken by the first model, and no other", async () => {
  const started = once(process, "worker");
  startWaitingWorker();
  const [worker] = await started;
  const taken = [takeWorker(), takeWorker()] as const;
  expect(taken[0]).toBe(worker);
  expect(taken[1]).not.toBe(worker);
  // It is another's now.
  endWaitingWorker();
  for (const each of taken) {
    each.postMessage({ close: true });
    expect(await once(each, "exit")).toEqual([0]);
  }
});

test("the thread that waits ends where no model wants it", async () => {
  const started = once(process, "worker");
  startWaitingWorker();
  const [worker] = (await started) as [Worker];
  endWaitingWorker();
  expect(await once(worker, "exit")).toEqual([0]);
});

test("a thread that has ended while it waited is not given to a model", async () => {
  const started = once(process, "worker");
  startWaitingWorker();
  const [worker] = (await started) as [Worker];
  await worker.terminate();
  const taken = takeWorker();
  expect(taken).not.toBe(worker);
  taken.postMessage({ close: true });
  await once(taken, "exit");
});
