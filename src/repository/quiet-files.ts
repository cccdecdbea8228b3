/**
 * Age from which files count as written at once, in milliseconds; a lower limit could be a difference of clocks with
 * another machine's disk.
 */
const OLD_MS = 60_000;

interface Seen {
  readonly state: string;
  readonly since: number;
}

/** Measures for how long files have been unchanged, so that none is used while it is being written. */
export class QuietFiles {
  readonly #quietMs: number;
  #before = new Map<string, Seen>();
  #now = new Map<string, Seen>();

  /** `quietMs` is the time without a change after which a file counts as written, in milliseconds. */
  constructor(quietMs: number) {
    this.#quietMs = quietMs;
  }

  /** Begins the next check; forgets the files that the last one did not ask for. */
  nextScan(): void {
    this.#before = this.#now;
    this.#now = new Map();
  }

  /**
   * Checks that a file has been in this state for long enough; `changedMs` is the time of its last change since 1970,
   * where that is known.
   */
  isQuiet(key: string, state: string, changedMs = Number.POSITIVE_INFINITY): boolean {
    const before = this.#before.get(key);
    const seen = before?.state === state ? before : { state, since: performance.now() };
    this.#now.set(key, seen);
    return Date.now() - changedMs > OLD_MS || performance.now() - seen.since >= this.#quietMs;
  }
}
