import type { Logger } from "../../observability/logger.ts";

/** Milliseconds between two checks of the program's memory. */
const EVERY_MS = 1000;

/**
 * Watches the resident memory of the process, without that of its child processes. Above the limit free memory is given
 * back to the system first; what is still above it at the next check exceeds it.
 */
export class MemoryLimit {
  isExceeded = false;
  /** Resolves once the limit is exceeded; never where it is 0. */
  readonly exceeded: Promise<void>;

  constructor(maxBytes: number, log: Pick<Logger, "error">, everyMs = EVERY_MS) {
    this.exceeded = new Promise((resolve) => {
      if (maxBytes === 0) return;
      let wasAbove = false;
      const timer = setInterval(() => {
        const bytes = process.memoryUsage.rss();
        const isAbove = bytes > maxBytes;
        if (isAbove && wasAbove) {
          clearInterval(timer);
          this.isExceeded = true;
          log.error("the program takes more memory than --max-rss and stops", { bytes, maxBytes });
          resolve();
        } else if (isAbove) void giveBack();
        wasAbove = isAbove;
      }, everyMs).unref();
    });
  }
}

/** C libraries other than glibc have no way to do so. */
async function giveBack(): Promise<void> {
  const { trimMemory } = await import("../../native/process-control.ts");
  await trimMemory().catch(() => {});
}
