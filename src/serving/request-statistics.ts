/** Times and counts of the requests of one servable; times in milliseconds, since it was loaded. */
export interface RequestStatistics {
  readonly succeeded: CountedTime;
  readonly failed: CountedTime;
  /** Time at which the last request ended, in milliseconds since the epoch; 0 = none did. */
  readonly lastRequest: number;
}

/** A number of requests, and their total time. */
interface CountedTime {
  readonly count: number;
  readonly ms: number;
}

/** Counts the requests of one servable. */
export class RequestCounter {
  readonly #succeeded = { count: 0, ms: 0 };
  readonly #failed = { count: 0, ms: 0 };
  #lastEnd = 0;

  /** End of the last request, on the clock of performance.now(); 0 = none has ended. */
  get lastEnd(): number {
    return this.#lastEnd;
  }

  /** Counts an ended request, which began at `started` on the clock of performance.now(). */
  add(started: number, isSuccess: boolean): void {
    const counted = isSuccess ? this.#succeeded : this.#failed;
    this.#lastEnd = performance.now();
    counted.count++;
    counted.ms += this.#lastEnd - started;
  }

  statistics(): RequestStatistics {
    const lastRequest = this.#lastEnd === 0 ? 0 : Date.now() - Math.round(performance.now() - this.#lastEnd);
    return { succeeded: { ...this.#succeeded }, failed: { ...this.#failed }, lastRequest };
  }
}
