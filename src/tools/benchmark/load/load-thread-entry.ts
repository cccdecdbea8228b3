import { parentPort, workerData } from "node:worker_threads";
import type { LoadJob } from "./load-job.ts";
import { createLoop, LoadMeter } from "./loops.ts";
import { createSender } from "./senders.ts";

/** Milliseconds between two batches: seldom enough to cost nothing, often enough to watch. */
const EVERY_MS = 100;

const job = workerData as LoadJob;
const meter = new LoadMeter();
const loop = createLoop({ job, sender: createSender(job.target), meter });
await loop.begun;
// Time before the first request was due is not measured.
meter.take(0);
setInterval(() => {
  const batch = meter.take(loop.backlog);
  parentPort?.postMessage(batch, [batch.latenciesMs.buffer as ArrayBuffer]);
}, EVERY_MS);
