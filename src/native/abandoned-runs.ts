/** Number and time of abandoned runs from which on they count as stuck. */
interface AbandonedLimits {
  /** Maximum number of runs at once. */
  readonly limit: number;
  /** Milliseconds for which all of them may be abandoned ones. */
  readonly graceMs: number;
  readonly onStuck: () => void;
  /** Called when one of the stuck runs has ended after all. */
  readonly onFreed?: () => void;
}

/**
 * Runs that continue although no client waits for them, since their runtime cannot abort a run, or not immediately.
 * Reports when they leave no room for others.
 */
export class AbandonedRuns {
  readonly #limits: AbandonedLimits;
  #count = 0;
  #isStuck = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: AbandonedLimits) {
    this.#limits = limits;
  }

  /** Counts a run until it ends. */
  add(run: Promise<unknown>): void {
    const { limit, graceMs } = this.#limits;
    this.#count++;
    if (this.#count === limit) this.#timer = setTimeout(() => this.#report(), graceMs).unref();
    const end = () => this.#end();
    run.then(end, end);
  }

  #report(): void {
    this.#isStuck = true;
    this.#limits.onStuck();
  }

  #end(): void {
    this.#count--;
    clearTimeout(this.#timer);
    if (!this.#isStuck) return;
    this.#isStuck = false;
    this.#limits.onFreed?.();
  }
}
