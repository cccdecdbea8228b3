/** How often, in milliseconds: it costs less than a thousandth of the time in between. */
const EVERY_MS = 10_000;
/** Processor time of such a stretch from which on it is worth it, in milliseconds. */
const BUSY_MS = 200;

/**
 * Gives free memory back to the system every ten seconds in which the program did something: glibc keeps what large messages
 * leave free, in a heap for each thread, and a third of the memory is then in nobody's use. Elsewhere does nothing. Returns how to stop.
 */
export function returnMemory({ everyMs = EVERY_MS, busyMs = BUSY_MS } = {}): () => void {
  if (process.platform !== "linux") return () => {};
  let used = process.cpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(used);
    if ((user + system) / 1000 < busyMs) return;
    void trim().catch(stop);
    used = process.cpuUsage();
  }, everyMs);
  timer.unref();
  const stop = () => clearInterval(timer);
  return stop;
}

/** Imported when there is something to do, which is no part of the start. */
async function trim(): Promise<void> {
  const { trimMemory } = await import("../native/trim-memory.ts");
  await trimMemory();
}
