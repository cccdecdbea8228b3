import type { ServingError } from "../errors.ts";
import type { NeededModels, NeedsWait } from "./needed-models.ts";
import type { Servable } from "./servable.ts";

/** The models that are stages of one version, as it loads and serves. */
export class VersionNeeds {
  readonly #needed: NeededModels;
  /** Versions of other models for which it has been loaded again. */
  readonly #renewedFor = new WeakSet<Servable["signatures"]>();
  #missing: ServingError | undefined;
  /** Names of the models that are stages of what is loaded, or is being loaded. */
  names: readonly string[] = [];

  constructor(needed: NeededModels) {
    this.#needed = needed;
  }

  /** The reason why those cannot answer; undefined while nothing is loaded. */
  get missing(): ServingError | undefined {
    return this.#missing;
  }

  /** Checks if the models can answer for what is loaded; returns true where {@link missing} has changed. */
  check(loaded: Servable | undefined): boolean {
    const missing = loaded === undefined ? undefined : this.#needed.problemOf(this.names);
    if (missing?.message === this.#missing?.message) return false;
    this.#missing = missing;
    return true;
  }

  /** Forgets the reason, as nothing is loaded any more. */
  clear(): void {
    this.#missing = undefined;
  }

  /** Returns true, once for each change, where a model takes or gives something else than when this was loaded. */
  haveChangedSince(loaded: Servable): boolean {
    const changed = this.#needed.changedSince(loaded);
    if (changed === undefined || this.#renewedFor.has(changed.signatures)) return false;
    this.#renewedFor.add(changed.signatures);
    return true;
  }

  /**
   * Waits until each of the models has a version that is available; rejects with the signal's reason. Returns the
   * problem that was reported last.
   */
  async wait(options: NeedsWait): Promise<ServingError | undefined> {
    let reported: ServingError | undefined;
    const onProblem = (problem: ServingError) => {
      if (problem.message === reported?.message) return;
      reported = problem;
      options.onProblem(problem);
    };
    await this.#needed.wait(this.names, { ...options, onProblem });
    return reported;
  }
}
