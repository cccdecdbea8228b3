/** What the requests of one servable took; times in milliseconds, since it was loaded. */
export interface RequestStatistics {
  readonly succeeded: CountedTime;
  readonly failed: CountedTime;
  /** When the last request ended, in milliseconds since the epoch; 0 = none did. */
  readonly lastRequest: number;
}

/** How many requests, and how long all of them together. */
interface CountedTime {
  readonly count: number;
  readonly ms: number;
}

/** Counts the requests of one servable, and knows when none is under way. */
export class RequestCounter {
  readonly #idleListeners: (() => void)[] = [];
  #running = 0;
  readonly #succeeded = { count: 0, ms: 0 };
  readonly #failed = { count: 0, ms: 0 };
  #lastRequest = 0;

  /** Runs a request and counts it, whatever comes of it. */
  async count<Result>(run: () => Promise<Result>): Promise<Result> {
    const started = performance.now();
    this.#running++;
    let counted = this.#failed;
    try {
      const result = await run();
      counted = this.#succeeded;
      return result;
    } finally {
      counted.count++;
      counted.ms += performance.now() - started;
      this.#lastRequest = Date.now();
      this.#running--;
      if (this.#running === 0 && this.#idleListeners.length > 0) this.#tellIdle();
    }
  }

  /** Resolves once no request is under way. */
  async idle(): Promise<void> {
    if (this.#running > 0) await new Promise<void>((resolve) => this.#idleListeners.push(resolve));
  }

  #tellIdle(): void {
    for (const listener of this.#idleListeners.splice(0)) listener();
  }

  statistics(): RequestStatistics {
    return { succeeded: { ...this.#succeeded }, failed: { ...this.#failed }, lastRequest: this.#lastRequest };
  }
}
