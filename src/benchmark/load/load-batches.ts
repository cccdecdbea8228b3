import { EventEmitter, on } from "node:events";
import { Worker } from "node:worker_threads";
import { threadEntry } from "../../threads/thread-entry.ts";
import type { LoadBatch, LoadJob } from "./load-job.ts";

/**
 * Puts a load on a server from threads of its own, and yields what they measure until
 * the caller stops or the signal aborts.
 */
export async function* loadBatches(
  job: LoadJob,
  threads: number,
  signal: AbortSignal,
): AsyncGenerator<LoadBatch, void, void> {
  const batches = new EventEmitter();
  const workers = shares(job, threads).map((workerData) => startThread(workerData, batches));
  try {
    for await (const [batch] of on(batches, "batch", { signal })) yield batch;
  } catch (reason) {
    if (!signal.aborted) throw reason;
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

function startThread(job: LoadJob, batches: EventEmitter): Worker {
  const worker = new Worker(threadEntry("benchmark/load/load-thread-entry"), { workerData: job });
  worker.on("message", (batch: LoadBatch) => batches.emit("batch", batch));
  worker.on("error", (reason) => batches.emit("error", reason));
  return worker;
}

/** Equal parts of a load, no more than there are requests at a time. */
function shares(job: LoadJob, threads: number): LoadJob[] {
  const count = Math.min(threads, job.concurrency);
  return Array.from({ length: count }, (_, index) => ({
    ...job,
    concurrency: Math.floor(job.concurrency / count) + (index < job.concurrency % count ? 1 : 0),
    ...(job.rate !== undefined && { rate: job.rate / count }),
  }));
}
