/** Milliseconds between two checks of the program's memory. */
const EVERY_MS = 2000;
/**
 * Processor time of a stretch in which the program is quiet, at most, in milliseconds:
 * trimming locks the heaps for some 10 ms.
 */
const QUIET_MS = 100;
/** Processor time since the last trimming from which on there may be something to give back, in milliseconds. */
const BUSY_MS = 200;
/**
 * Milliseconds after which a program that is never quiet does so all the same: the heap of each thread
 * keeps the most that its requests ever took, and these sums grow for many minutes.
 */
const LATEST_MS = 60_000;

/**
 * Gives free memory back to the system when the program was busy and is quiet now, and each minute while it is not:
 * glibc keeps what large messages leave free, in a heap for each thread, and a third
 * of the memory is then unused. Elsewhere does nothing. Returns how to stop.
 */
export function returnMemory({
  everyMs = EVERY_MS,
  quietMs = QUIET_MS,
  busyMs = BUSY_MS,
  latestMs = LATEST_MS,
} = {}): () => void {
  if (process.platform !== "linux") return () => {};
  let checked = cpuMs();
  // What the start took counts too.
  let trimmed = 0;
  let trimmedAt = performance.now();
  const timer = setInterval(() => {
    const now = cpuMs();
    const isQuiet = now - checked <= quietMs;
    checked = now;
    const isLate = performance.now() - trimmedAt >= latestMs;
    if (!(isQuiet || isLate) || now - trimmed < busyMs) return;
    trimmed = now;
    trimmedAt = performance.now();
    void trim().catch(stop);
  }, everyMs);
  timer.unref();
  const stop = () => clearInterval(timer);
  return stop;
}

/** Processor time of all threads until now. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Imported when there is something to do, so that the start does not take longer. */
async function trim(): Promise<void> {
  const { trimMemory } = await import("../../platform/native/process-control.ts");
  await trimMemory();
}
