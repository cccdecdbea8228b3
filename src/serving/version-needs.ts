import type { ServingError } from "../errors.ts";
import type { NeededModels, NeedsWait } from "./needed-models.ts";
import type { Servable } from "./servable.ts";
import type { ServableDescription } from "./servable-description.ts";
import type { LoadPolicy } from "./version-context.ts";
import type { VersionTarget } from "./version-target.ts";

/** The files that a version should have next, and those that it has. */
interface VersionChange {
  readonly next: Pick<VersionTarget, "aspired" | "isSettled">;
  readonly loaded: Pick<VersionTarget, "aspired"> | undefined;
}

/** The models that are stages of one version, as it loads and serves. */
export class VersionNeeds {
  readonly #needed: NeededModels;
  readonly #timeoutMs: number;
  /** Versions of other models for which it has been loaded again. */
  readonly #renewedFor = new WeakSet<ServableDescription["signatures"]>();
  #missing: ServingError | undefined;
  /** Names of the models that are stages of the loaded version. */
  #loaded: readonly string[] = [];
  #retiring: readonly string[] = [];
  /** Names of the models that are stages of the version that is being loaded, or was loaded last. */
  names: readonly string[] = [];

  constructor({ needed, loading }: Pick<LoadPolicy, "needed" | "loading">) {
    this.#needed = needed;
    this.#timeoutMs = loading.loadTimeoutMs;
  }

  /** Names of all models that are stages of a version: loaded, being loaded, or finishing its last requests. */
  get all(): readonly string[] {
    return [...this.names, ...this.#loaded, ...this.#retiring];
  }

  /**
   * True while the loaded version is about to be replaced by files that do without a model, or name another version of
   * it, and until the last requests of the old one are over.
   */
  isLeaving(need: string, { next, loaded }: VersionChange): boolean {
    const { aspired, isSettled } = next;
    if (aspired === undefined || (isSettled && !this.#retiring.includes(need))) return false;
    const mayChange = aspired.needs?.includes(need) !== true || loaded?.aspired?.needsVersions === true;
    return mayChange && this.all.includes(need);
  }

  /** Notes the stages of what answers from now on; undefined = nothing does. What answered before retires. */
  load(names: readonly string[] | undefined): void {
    this.#retiring = this.#loaded;
    this.#loaded = names ?? [];
    if (names === undefined) this.#missing = undefined;
  }

  /** To be called once what answered before is freed; returns false if that needed no models. */
  forgetRetired(): boolean {
    const hadAny = this.#retiring.length > 0;
    this.#retiring = [];
    return hadAny;
  }

  /** The reason why the loaded version cannot answer for want of a model; undefined while nothing is loaded. */
  get missing(): ServingError | undefined {
    return this.#missing;
  }

  /** Checks if the models can answer for the loaded version; returns true if {@link missing} has changed. */
  check(loaded: Servable | undefined): boolean {
    const missing = loaded === undefined ? undefined : this.#needed.problemOf(this.#loaded);
    if (missing?.message === this.#missing?.message) return false;
    this.#missing = missing;
    return true;
  }

  /** Returns true, once for each change, if a model takes or gives something else than when this was loaded. */
  haveChangedSince(loaded: Servable): boolean {
    const changed = this.#needed.changedSince(loaded);
    if (changed === undefined || this.#renewedFor.has(changed.description.signatures)) return false;
    this.#renewedFor.add(changed.description.signatures);
    return true;
  }

  /**
   * Waits until each of the models has a version that is available; rejects with the signal's reason. Returns the
   * problem that was reported last.
   */
  async wait(options: Omit<NeedsWait, "timeoutMs">): Promise<ServingError | undefined> {
    let reported: ServingError | undefined;
    const onProblem = (problem: ServingError) => {
      if (problem.message === reported?.message) return;
      reported = problem;
      options.onProblem(problem);
    };
    await this.#needed.wait(this.names, { ...options, timeoutMs: this.#timeoutMs, onProblem });
    return reported;
  }
}
