import { LOG_LEVELS, type LogLevel } from "./log-level.ts";

/** What a log writes: each level for itself, so that it can change while the server runs. */
export class LogFilter {
  readonly #written: Set<LogLevel>;

  /** Writes what is at least as important as `least`. */
  constructor(least: LogLevel) {
    this.#written = new Set(LOG_LEVELS.slice(LOG_LEVELS.indexOf(least), -1));
  }

  /** Whether events of a level are written. */
  writes(level: LogLevel): boolean {
    return this.#written.has(level);
  }

  /** Begins or ends to write the events of a level; it alone changes. */
  set(level: LogLevel, isWritten: boolean): void {
    if (isWritten) this.#written.add(level);
    else this.#written.delete(level);
  }

  /** The least important level that is written; `silent` = none is. */
  get level(): LogLevel {
    return LOG_LEVELS.find((level) => this.#written.has(level)) ?? "silent";
  }
}
