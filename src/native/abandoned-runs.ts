/** When abandoned runs are too many, and what happens then. */
interface AbandonedLimits {
  /** Runs that may be under way at once. */
  readonly limit: number;
  /** How long they may all be abandoned ones. */
  readonly graceMs: number;
  readonly onStuck: () => void;
}

/** Runs that go on although nobody waits for their answers, since their runtime does not end a single run, or not at once. Tells when nothing else has run for a while. */
export class AbandonedRuns {
  readonly #limits: AbandonedLimits;
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: AbandonedLimits) {
    this.#limits = limits;
  }

  /** Counts a run until it ends. */
  add(run: Promise<unknown>): void {
    const { limit, graceMs, onStuck } = this.#limits;
    this.#count++;
    if (this.#count === limit) this.#timer = setTimeout(onStuck, graceMs).unref();
    const end = () => {
      this.#count--;
      clearTimeout(this.#timer);
    };
    run.then(end, end);
  }
}
