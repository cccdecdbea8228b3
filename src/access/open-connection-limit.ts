import { ConnectionLimit } from "../limits/connection-limit.ts";
import { onceInAWhile } from "./once-in-a-while.ts";

interface WarningLog {
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** The limit of connections, 0 = none; refused ones are logged once a minute. */
export function openConnectionLimit(max: number, log: WarningLog): ConnectionLimit {
  const warn = onceInAWhile((open: number) =>
    log.warn(`connections are refused: there are ${open}, the most that the server may have (--max-connections)`),
  );
  return new ConnectionLimit(max, warn);
}
