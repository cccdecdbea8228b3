import { getPriority, setPriority } from "node:os";

/** Nice value of a codec thread: it gets a third of what a thread of 0 gets on the same core. */
const NICE = 5;

/**
 * Lets other threads, of which the main thread waits for sockets, go before this one where cores are short. Only Linux
 * has priorities of threads: elsewhere, and where a sandbox has none, nothing changes.
 */
export function yieldToThreads(): void {
  if (process.platform !== "linux") return;
  try {
    if (getPriority() < NICE) setPriority(NICE);
  } catch {
    // It is as fast as the others then.
  }
}
