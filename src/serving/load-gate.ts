import { createDeferred, type Deferred } from "../async/deferred.ts";

/** Limits the number of loads that run at once; the others wait in the order in which they came. */
export class LoadGate {
  #free: number;
  readonly #waiting: Deferred<void>[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  /** Runs `load` when it is its turn; rejects with the signal's reason if it aborts before that. */
  async run<T>(load: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#enter(signal);
    try {
      return await load();
    } finally {
      this.#leave();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    const turn = createDeferred<void>();
    this.#waiting.push(turn);
    const giveUp = () => {
      const index = this.#waiting.indexOf(turn);
      if (index >= 0) this.#waiting.splice(index, 1);
      turn.reject(signal.reason);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    await turn.promise;
    signal.removeEventListener("abort", giveUp);
  }

  /** Passes the place to the load that has waited longest. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next.resolve();
  }
}
