import { ServingError } from "../errors.ts";
import { createDeferred } from "../platform/async/promises.ts";
import type { AspiredVersion } from "./aspired-model.ts";

/** One decision on the state that a version of a model should reach. */
export class VersionTarget {
  /** The files to load; undefined = it should be unloaded. */
  aspired: AspiredVersion | undefined;
  /** Further attempts after a load has failed. */
  readonly retries: number;
  /** True if a loaded model may stay if only its hooks have changed. */
  readonly mayKeepModel: boolean;
  readonly #done = createDeferred<void>();
  #isSettled = false;

  constructor(aspired: AspiredVersion | undefined, { retries = 0, mayKeepModel = false } = {}) {
    this.aspired = aspired;
    this.retries = retries;
    this.mayKeepModel = mayKeepModel;
  }

  /** True once it is reached, or the first attempt has failed. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Resolves once it is reached; rejects when the first attempt fails. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  reach(): void {
    this.#isSettled = true;
    this.#done.resolve();
  }

  fail(reason: unknown): void {
    this.#isSettled = true;
    this.#done.reject(reason);
  }

  /**
   * Makes those that wait for it wait for a later decision. A decision to unload rejects those that wait for a load.
   */
  follow(next: VersionTarget): void {
    if (this.aspired === undefined || next.aspired !== undefined) next.done.then(this.#done.resolve, this.#done.reject);
    else this.#done.reject(new ServingError("aborted", "The model was unloaded before it had loaded."));
  }
}
