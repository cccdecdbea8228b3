/** Milliseconds of each turn of the event loop that runs in this thread may take together. */
const TURN_MS = 1;

/**
 * Time that runs of models may take from the thread that answers clients: what it does
 * not allow goes to the models' threads.
 */
export class TurnBudget {
  #leftMs = TURN_MS;

  /** Takes the expected time of a run from what this turn has left; returns false where that is too little. */
  take(ms: number): boolean {
    if (ms > this.#leftMs) return false;
    if (this.#leftMs === TURN_MS) setImmediate(this.#renew);
    this.#leftMs -= ms;
    return true;
  }

  readonly #renew = () => {
    this.#leftMs = TURN_MS;
  };
}

/** The turns of this process's main thread, which all its models share. */
export const turnBudget = new TurnBudget();
