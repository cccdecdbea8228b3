import type { Logger } from "../../observability/logger.ts";
import { watchContainerRoom } from "../../platform/limits/memory/container-room.ts";
import { containerMemory, containerProcessors } from "../../platform/machine/container.ts";

/** Watches the program's memory: `maxRss` above which it stops, and the container's, as {@link watchContainer} does. */
export function watchMemory(maxRss: number, log: Pick<Logger, "info" | "error">): MemoryLimit {
  watchContainer(log);
  return new MemoryLimit(maxRss, log);
}

/** Watches the container's memory, without which large requests are refused. Tells its limits in the log. */
export function watchContainer(log: Pick<Logger, "info">): void {
  const [memoryBytes, processors] = [containerMemory(), containerProcessors()];
  if (memoryBytes !== undefined) watchContainerRoom();
  const limits = { ...(memoryBytes !== undefined && { memoryBytes }), ...(processors !== undefined && { processors }) };
  if (Object.keys(limits).length > 0) log.info("the limits of the container count", limits);
}

/** Milliseconds between two checks of the program's memory. */
const EVERY_MS = 1000;

/**
 * Watches the resident memory of the process, without that of its child processes. Above the limit free memory is given
 * back to the system first; a size that is still above it at the next check exceeds it.
 */
class MemoryLimit {
  isExceeded = false;
  /** Resolves once the limit is exceeded; never if it is 0. */
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
  const { trimMemory } = await import("../../platform/native/process-control.ts");
  await trimMemory().catch(() => {});
}
