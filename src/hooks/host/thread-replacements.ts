import { Backoff } from "../../platform/async/backoff.ts";

/** Delays of a new start of a thread that failed to start. */
const START_BACKOFF = { firstMs: 20, maxMs: 10_000 };
/**
 * Delays of the replacement of a dead thread, longer after each one that died before its first answer; short, since the
 * requests that it did not start wait for the replacement.
 */
const CRASH_BACKOFF = { firstMs: 20, maxMs: 250 };

/** Schedules the replacements of a generation's threads. */
export class ThreadReplacements {
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #startBackoff = new Backoff(START_BACKOFF);
  readonly #crashBackoff = new Backoff(CRASH_BACKOFF);

  /** Replaces a thread that has died; `hasAnswered` = it had answered a request. */
  afterCrash(hasAnswered: boolean, replace: () => void): void {
    if (hasAnswered) this.#crashBackoff.reset();
    this.#schedule(replace, this.#crashBackoff);
  }

  /** Replaces a thread that has not started. */
  afterFailedStart(replace: () => void): void {
    this.#schedule(replace, this.#startBackoff);
  }

  /** A replacement has started. */
  started(): void {
    this.#startBackoff.reset();
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #schedule(replace: () => void, backoff: Backoff): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      replace();
    }, backoff.next());
    this.#timers.add(timer);
  }
}
