/** Shortest and longest wait, in milliseconds. */
export interface BackoffLimits {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Waits between attempts: each is twice the one before, up to a limit. */
export class Backoff {
  readonly #limits: BackoffLimits;
  #nextMs: number;

  constructor(limits: BackoffLimits) {
    this.#limits = limits;
    this.#nextMs = limits.firstMs;
  }

  /** The wait before the next attempt, in milliseconds. */
  next(): number {
    const waitMs = this.#nextMs;
    this.#nextMs = Math.min(2 * waitMs, this.#limits.maxMs);
    return waitMs;
  }

  /** Begins again with the first wait, after a success. */
  reset(): void {
    this.#nextMs = this.#limits.firstMs;
  }
}
