/** Ends what takes too long to come, with one timer for all: one for each takes 3 % of a small request's time. */
export class MessageClock {
  readonly #timeoutMs: number;
  /** Since when each is awaited, on the clock of performance.now(); the oldest first. */
  readonly #since = new Map<() => void, number>();
  #isRunning = false;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Calls `end` once the time is over, unless it is taken out again before. */
  add(end: () => void): void {
    this.#since.set(end, performance.now());
    if (!this.#isRunning) this.#sleep(this.#timeoutMs);
  }

  /** Takes out what came, or is over. */
  delete(end: () => void): void {
    this.#since.delete(end);
  }

  #sleep(ms: number): void {
    this.#isRunning = true;
    setTimeout(() => this.#wake(), ms).unref();
  }

  #wake(): void {
    this.#isRunning = false;
    for (const [end, since] of this.#since) {
      const leftMs = since + this.#timeoutMs - performance.now();
      if (leftMs > 0) {
        this.#sleep(leftMs);
        return;
      }
      this.#since.delete(end);
      end();
    }
  }
}
