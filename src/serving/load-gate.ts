import { createDeferred, type Deferred } from "../platform/async/promises.ts";

/** Limits the number of loads that run at once; the others wait in the order in which they came. */
export class LoadGate {
  #free: number;
  readonly #waiting: Deferred<boolean>[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  /**
   * Runs `load` when it is its turn, or once `atOnce` aborts; rejects with the signal's reason if that aborts before.
   */
  async run<T>(load: () => Promise<T>, signal: AbortSignal, atOnce?: AbortSignal): Promise<T> {
    const hasPlace = await this.#enter(signal, atOnce);
    try {
      return await load();
    } finally {
      if (hasPlace) this.#leave();
    }
  }

  /** Resolves with false for a load that goes on without a place. */
  async #enter(signal: AbortSignal, atOnce: AbortSignal | undefined): Promise<boolean> {
    signal.throwIfAborted();
    if (atOnce?.aborted) return false;
    if (this.#free > 0) {
      this.#free--;
      return true;
    }
    const turn = createDeferred<boolean>();
    this.#waiting.push(turn);
    const leave = () => {
      const index = this.#waiting.indexOf(turn);
      if (index >= 0) this.#waiting.splice(index, 1);
      if (signal.aborted) turn.reject(signal.reason);
      else if (index >= 0) turn.resolve(false);
    };
    const both = atOnce === undefined ? [signal] : [signal, atOnce];
    for (const each of both) each.addEventListener("abort", leave);
    try {
      return await turn.promise;
    } finally {
      for (const each of both) each.removeEventListener("abort", leave);
    }
  }

  /** Passes the place to the load that has waited longest. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next.resolve(true);
  }
}
