import type { LogLevel } from "../log-level.ts";

/** One line of a log. */
export interface LogLine {
  /** Rises by one with each line, and is higher once the server was started again. */
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly level: Exclude<LogLevel, "silent">;
  readonly message: string;
  /** The fields as JSON; empty = there are none. */
  readonly fields: string;
}
