import type { EndedRequest } from "../platform/limits/ended-requests.ts";
import type { MemoryBudget } from "../platform/limits/memory/memory-budget.ts";
import { onceInAWhile } from "./once-in-a-while.ts";

interface WarningLog {
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/**
 * Ends requests of clients below a rate, in bytes per second, and of those that hold what others need; the log says so
 * once a minute for each of the reasons.
 */
export function endSlowClients(memory: MemoryBudget, minClientRate: number, log: WarningLog): void {
  const warn = ({ message, client, direction, bytes }: EndedRequest) =>
    log.warn(`a client's request was ended: ${message}`, {
      client: client.startsWith("header ") ? "(by its header)" : client,
      direction,
      held_bytes: bytes,
    });
  const warnOf = { slow: onceInAWhile(warn), memory: onceInAWhile(warn), place: onceInAWhile(warn) };
  memory.overload.configure({ minClientRate, onEnded: (request) => warnOf[request.reason](request) });
}
