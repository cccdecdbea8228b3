import { Worker } from "node:worker_threads";
import { threadEntry } from "../../platform/threads/thread-entry.ts";

/** Data that the entry of a model thread is started with. */
export interface ModelEntryData {
  /** True if nothing is served yet that the thread's start could hold up. */
  readonly isFirst: boolean;
}

let waiting: Worker | undefined;

/** Starts a thread for a model that is to come: it loads its code while the main thread still loads its own. */
export function startWaitingWorker(): void {
  const worker = startWorker(true);
  waiting = worker;
  const forget = () => {
    if (waiting === worker) waiting = undefined;
  };
  // The next thread reports the problem.
  worker.once("error", forget).once("exit", forget);
}

/** A new thread for models, or the one that waits; it gets its data in a message. */
export function takeWorker(): Worker {
  const worker = waiting ?? startWorker(false);
  waiting = undefined;
  return worker;
}

/** Ends the thread that waits; does nothing if a model has taken it. */
export function endWaitingWorker(): void {
  waiting?.postMessage({ close: true });
  waiting = undefined;
}

function startWorker(isFirst: boolean): Worker {
  const workerData: ModelEntryData = { isFirst };
  return new Worker(threadEntry("models/threads/model-thread-entry"), { workerData, name: "model" });
}
