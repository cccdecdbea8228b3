import { expect } from "vitest";
import type { LogLevel } from "../../src/observability/log-filter.ts";
import { LogFilter } from "../../src/observability/log-filter.ts";
import { createOutputLogger, type Logger } from "../../src/observability/logger.ts";

/** An event of a log. */
type LoggedEvent = Readonly<Record<string, unknown>>;

/** A log whose events a test can look at. */
export interface EventLog {
  readonly log: Logger;
  readonly events: readonly LoggedEvent[];
  /** Resolves with the first event that has these fields. */
  find(fields: LoggedEvent): Promise<LoggedEvent>;
}

/** A logger that keeps its events. */
export function createEventLog(level: LogLevel = "info"): EventLog {
  const events: LoggedEvent[] = [];
  const output = { write: (line: string) => void events.push(JSON.parse(line)) };
  const find = async (fields: LoggedEvent) => {
    const matches = (event: LoggedEvent) => Object.entries(fields).every(([name, value]) => event[name] === value);
    await expect.poll(() => events.some(matches), { timeout: 10_000, interval: 10 }).toBe(true);
    return events.find(matches) as LoggedEvent;
  };
  return { log: createOutputLogger([output], new LogFilter(level)), events, find };
}
