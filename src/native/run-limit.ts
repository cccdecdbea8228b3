/** Lets a number of tasks run at once; the others wait, in order. */
export class RunLimit {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  readonly #onIdle: (() => void)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs a task when its turn has come; rejects with the signal's reason where that aborts before. */
  async run<Result>(task: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    if (this.#running >= this.#limit) await this.#turn(signal);
    else this.#running++;
    try {
      return await task();
    } finally {
      this.#next();
    }
  }

  /** True while nothing runs and nothing waits. */
  get isIdle(): boolean {
    return this.#running === 0;
  }

  /** Resolves when nothing runs and nothing waits. */
  async idle(): Promise<void> {
    if (this.#running > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1);
        reject(signal?.reason);
      };
      this.#waiting.push(go);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  /** A turn passes straight to the next in line. */
  #next(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next();
      return;
    }
    this.#running--;
    if (this.#running > 0) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}
