import { watchContainerRoom } from "../../limits/memory/container-room.ts";
import { containerMemory, containerProcessors } from "../../machine/container.ts";
import type { Logger } from "../../observability/logger.ts";
import { MemoryLimit } from "./memory-limit.ts";

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
