/**
 * Milliseconds after a failed load in which requests are answered with its reason: a
 * broken model is not tried for each of them.
 */
const FAILURE_HOLD_MS = 1000;

/** A load that everyone waits for who asks for it while it runs, and whose failure is kept for a second. */
export class SharedLoad<Result> {
  #loading: Promise<Result> | undefined;
  #failure: { readonly reason: unknown; readonly until: number } | undefined;

  /** The load that runs now. */
  get current(): Promise<Result> | undefined {
    return this.#loading;
  }

  /** Loads, unless that is done already or has just failed; rejects as `load` does. */
  run(load: () => Promise<Result>): Promise<Result> {
    if (this.#failure !== undefined && performance.now() < this.#failure.until) {
      return Promise.reject(this.#failure.reason);
    }
    this.#loading ??= this.#watch(load()).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #watch(loading: Promise<Result>): Promise<Result> {
    try {
      const result = await loading;
      this.#failure = undefined;
      return result;
    } catch (reason) {
      this.#failure = { reason, until: performance.now() + FAILURE_HOLD_MS };
      throw reason;
    }
  }
}
