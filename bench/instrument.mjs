/**
 * Loaded into a server under test by `node --import FILE?out=PATH`. At SIGUSR2 it collects garbage in every thread, then writes
 * the main thread's event-loop delay since the last time to PATH as JSON, in milliseconds, and the bytes of the objects of all threads. With `FILE?out=PATH&shrink`
 * threads return the space for new objects too, which V8 otherwise keeps while they have work, and forget compiled code.
 */
import { renameSync, writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { BroadcastChannel, isMainThread } from "node:worker_threads";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc");
const { searchParams } = new URL(import.meta.url);
const options = searchParams.has("shrink") ? [{ type: "major", execution: "sync", flavor: "last-resort" }] : [];
const collect = () => {
  gc(...options);
  // One alone leaves a part of the garbage: some megabytes after some thousand requests.
  gc();
};
const threads = new BroadcastChannel("bench-collect-garbage");
threads.unref();
/** Milliseconds in which threads tell what they hold: the least, and the most where fewer tell than have before. */
const [TELL_MS, LATE_MS] = [60, 3000];

function objectBytes() {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

if (isMainThread) watchMainThread(searchParams.get("out"));
else threads.onmessage = ({ data: { ask } }) => ask && threads.postMessage({ of: ask, bytes: objectBytes() });

function watchMainThread(path) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  let [asks, most, told] = [0, 0, []];
  threads.onmessage = ({ data: { of, bytes } }) => {
    if (of === asks) most = Math.max(most, told.push(bytes));
  };
  threads.unref();
  process.on("SIGUSR2", () => {
    const facts = { p50Ms: delay.percentile(50) / 1e6, p99Ms: delay.percentile(99) / 1e6, maxMs: delay.max / 1e6 };
    told = [];
    threads.postMessage({ ask: ++asks });
    const own = objectBytes();
    const asked = performance.now();
    const tell = () => {
      const waitedMs = performance.now() - asked;
      if (waitedMs < TELL_MS || (told.length < most && waitedMs < LATE_MS)) return;
      clearInterval(timer);
      const ofAll = told.reduce((sum, bytes) => sum + bytes, own);
      writeFileSync(`${path}.part`, JSON.stringify({ ...facts, objectBytes: ofAll }));
      renameSync(`${path}.part`, path);
      delay.reset();
    };
    const timer = setInterval(tell, 5);
  });
}
