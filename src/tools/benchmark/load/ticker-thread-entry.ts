import { parentPort, workerData } from "node:worker_threads";

const { everyMs } = workerData as { readonly everyMs: number };
const sleeper = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
const started = performance.now();
for (let tick = 0; ; tick++) {
  const leftMs = started + tick * everyMs - performance.now();
  // A thread that nothing wakes sleeps for fractions of a millisecond, which timers do not.
  if (leftMs > 0) Atomics.wait(sleeper, 0, 0, leftMs);
  parentPort?.postMessage(null);
}
