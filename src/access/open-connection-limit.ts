import { ConnectionLimit } from "../limits/connection-limit.ts";
import type { ThreadCounts } from "../limits/thread-counts.ts";
import { onceInAWhile } from "./once-in-a-while.ts";

interface WarningLog {
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** The limit of connections, 0 = none; refused ones are logged once a minute. */
export function openConnectionLimit(max: number, log: WarningLog, counts?: ThreadCounts): ConnectionLimit {
  const warn = onceInAWhile((open: number) =>
    log.warn(`connections are refused: there are ${open}, the most that the server may have (--max-connections)`),
  );
  return new ConnectionLimit(max, warn, counts);
}
