/** Files that are older than this, in milliseconds, are taken at once; less could be the clock of another machine's disk. */
const OLD_MS = 60_000;

interface Seen {
  readonly state: string;
  readonly since: number;
}

/** Knows for how long files have been as they are, so that none is taken while it is being written. */
export class QuietFiles {
  readonly #quietMs: number;
  #before = new Map<string, Seen>();
  #now = new Map<string, Seen>();

  /** `quietMs` are the milliseconds without a change after which a file counts as written. */
  constructor(quietMs: number) {
    this.#quietMs = quietMs;
  }

  /** Begins the next look; what the last one did not ask for is forgotten. */
  nextLook(): void {
    this.#before = this.#now;
    this.#now = new Map();
  }

  /** Checks that something has been in this state for long enough; `changedMs` is the time of its last change since 1970, where that is known. */
  isQuiet(key: string, state: string, changedMs = Number.POSITIVE_INFINITY): boolean {
    const before = this.#before.get(key);
    const seen = before?.state === state ? before : { state, since: performance.now() };
    this.#now.set(key, seen);
    return Date.now() - changedMs > OLD_MS || performance.now() - seen.since >= this.#quietMs;
  }
}
