/** Shortest and longest wait, in milliseconds. */
export interface BackoffLimits {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Waits before something that failed is tried again: each is twice the one before, up to a limit. */
export class Backoff {
  readonly #limits: BackoffLimits;
  #nextMs: number;

  constructor(limits: BackoffLimits) {
    this.#limits = limits;
    this.#nextMs = limits.firstMs;
  }

  /** The wait before the next try, in milliseconds. */
  next(): number {
    const waitMs = this.#nextMs;
    this.#nextMs = Math.min(2 * waitMs, this.#limits.maxMs);
    return waitMs;
  }

  /** Starts anew with the first wait: what failed has worked in between. */
  reset(): void {
    this.#nextMs = this.#limits.firstMs;
  }
}
