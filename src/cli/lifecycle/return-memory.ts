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
 * Gives free memory back to the system when the program was busy and is quiet now:
 * glibc keeps what large messages leave free, in a heap for each thread, and a third
 * of the memory is then unused. Elsewhere does nothing. Returns how to stop.
 */
export function returnMemory({ everyMs = EVERY_MS, quietMs = QUIET_MS, busyMs = BUSY_MS } = {}): () => void {
  if (process.platform !== "linux") return () => {};
  let checked = cpuMs();
  // What the start took counts too.
  let trimmed = 0;
  const timer = setInterval(() => {
    const now = cpuMs();
    const isQuiet = now - checked <= quietMs;
    checked = now;
    if (!isQuiet || now - trimmed < busyMs) return;
    trimmed = now;
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
  const { trimMemory } = await import("../../native/trim-memory.ts");
  await trimMemory();
}
