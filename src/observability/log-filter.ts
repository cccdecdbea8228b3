/** Log levels, most talkative first. This file has no imports, so that naming them does not load the logger. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
/** One of {@link LOG_LEVELS}. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** As they are before hooks, in whose threads this runs too, may replace them. */
const { and, load, or } = Atomics;

/** Events that a log writes: from a level on, or those that another thread's filter writes at the moment. */
export type Logged = LogLevel | SharedArrayBuffer;

/**
 * The levels that a log writes, each by itself, so that they can change while the server runs, for all threads at once.
 */
export class LogFilter {
  /** A bit for each level, by its place in LOG_LEVELS. */
  readonly #written: Int32Array<SharedArrayBuffer>;

  /**
   * Writes events at least as important as a level, or those of the filter whose {@link shared} memory it gets.
   */
  constructor(logged: Logged) {
    if (typeof logged !== "string") {
      this.#written = new Int32Array(logged);
      return;
    }
    this.#written = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    for (const level of LOG_LEVELS.slice(LOG_LEVELS.indexOf(logged), -1)) this.set(level, true);
  }

  /** Checks that events of a level are written. */
  writes(level: LogLevel): boolean {
    return (load(this.#written, 0) & bitOf(level)) !== 0;
  }

  /** Begins or ends to write the events of a level; it alone changes. */
  set(level: LogLevel, isWritten: boolean): void {
    if (isWritten) or(this.#written, 0, bitOf(level));
    else and(this.#written, 0, ~bitOf(level));
  }

  /** The least important level that is written; `silent` = none is. */
  get level(): LogLevel {
    return LOG_LEVELS.find((level) => this.writes(level)) ?? "silent";
  }

  /** Memory by which another thread writes the same events, now and after each change. */
  get shared(): SharedArrayBuffer {
    return this.#written.buffer;
  }
}

function bitOf(level: LogLevel): number {
  return 1 << LOG_LEVELS.indexOf(level);
}
