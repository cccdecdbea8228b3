/**
 * Loaded into a server under test by `node --import FILE?out=PATH`. At SIGUSR2 it collects garbage in every thread, then writes
 * the main thread's event-loop delay since the last time to PATH as JSON, in milliseconds, and the bytes of its objects. With `FILE?out=PATH&shrink`
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
const collect = () => gc(...options);
const threads = new BroadcastChannel("bench-collect-garbage");
threads.unref();

if (isMainThread) watchMainThread(searchParams.get("out"));
else threads.onmessage = () => collect();

function watchMainThread(path) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  process.on("SIGUSR2", () => {
    const facts = { p50Ms: delay.percentile(50) / 1e6, p99Ms: delay.percentile(99) / 1e6, maxMs: delay.max / 1e6 };
    threads.postMessage("now");
    collect();
    const { heapUsed, external } = process.memoryUsage();
    writeFileSync(`${path}.part`, JSON.stringify({ ...facts, objectBytes: heapUsed + external }));
    renameSync(`${path}.part`, path);
    delay.reset();
  });
}
