/** Lets at most `limit` tasks overlap; the others wait in order, and leave the queue when their signal aborts. */
export class ConcurrencyGate {
  readonly #limit: number;
  readonly #waiting: Waiter[] = [];
  readonly #idleListeners: (() => void)[] = [];
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs a task when its turn comes; rejects with the signal's reason when that aborts first. */
  async run<T>(signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.#running >= this.#limit) await this.#turn(signal);
    else this.#running++;
    try {
      return await task();
    } finally {
      this.#next();
    }
  }

  /** Resolves once nothing runs and nothing waits. */
  async idle(): Promise<void> {
    if (this.#running === 0) return;
    await new Promise<void>((resolve) => this.#idleListeners.push(resolve));
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(signal.reason);
      };
      const waiter: Waiter = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(waiter);
    });
  }

  /** Hands the place of a finished task to the next in line. */
  #next(): void {
    const waiter = this.#waiting.shift();
    if (waiter !== undefined) {
      waiter();
      return;
    }
    this.#running--;
    if (this.#running === 0) for (const listener of this.#idleListeners.splice(0)) listener();
  }
}

type Waiter = () => void;
