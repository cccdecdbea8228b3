/** Choices for calls that are sent again. */
export interface RetryOptions {
  /** Times that one call is sent at most; default 4. */
  readonly attempts?: number;
  /** The wait before the second, in milliseconds; each further one is twice as long, up to 5 s; default 100. */
  readonly firstDelayMs?: number;
  /**
   * Failures of the whole connection that are borne before retries stop, until ten times
   * as many calls succeed; default 10.
   */
  readonly budget?: number;
}

/** Part of a failure's cost that a success gives back (gRPC's A6, "throttling retry attempts"). */
const TOKENS_OF_SUCCESS = 0.1;

/** Limits the retries of all calls of a connection together, so that clients do not keep down a server that is down. */
export class RetryBudget {
  readonly #most: number;
  #tokens: number;

  constructor(most: number) {
    this.#most = most;
    this.#tokens = most;
  }

  succeeded(): void {
    this.#tokens = Math.min(this.#most, this.#tokens + TOKENS_OF_SUCCESS);
  }

  /** Counts a failure; true where its call may be sent again. */
  failed(): boolean {
    this.#tokens = Math.max(0, this.#tokens - 1);
    return this.#tokens > this.#most / 2;
  }
}
