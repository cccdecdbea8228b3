import type { ServingError } from "../errors.ts";
import type { AspiredVersion } from "./aspired-model.ts";
import { namingError } from "./naming-error.ts";
import type { NamingLack, NeededModels } from "./needed-models.ts";
import type { Problem } from "./plan/loads.ts";
import type { Servable } from "./servable.ts";
import type { ServableDescription } from "./servable-description.ts";

/** The models that are stages of one version, as it loads and serves. */
export class VersionNeeds {
  readonly #needed: NeededModels;
  /** Signatures of another model for which it was loaded again last. */
  #renewedFor: ServableDescription["signatures"] | undefined;
  #missing: ServingError | undefined;
  /** Names of the models that are stages of the loaded version. */
  #loaded: readonly string[] = [];
  #retiring: readonly string[] = [];
  /** Names of those that are stages of the version that loads, or was loaded last. */
  #names: readonly string[] = [];
  #allVersions = false;
  /** The reason why the load waits, as it was told last. */
  #told: ServingError | undefined;

  constructor(needed: NeededModels) {
    this.#needed = needed;
  }

  /** Notes the stages of files that begin to load. */
  begin({ needs = [], needsVersions = false }: Pick<AspiredVersion, "needs" | "needsVersions"> = {}): void {
    this.#names = needs;
    this.#allVersions = needsVersions;
    this.#told = undefined;
  }

  /** Names of all models that are stages of a version: loaded, being loaded, or finishing its last requests. */
  get all(): readonly string[] {
    return [...this.#names, ...this.#loaded, ...this.#retiring];
  }

  /** Names of those that are stages of what answered before, until its last requests are over. */
  get retiring(): readonly string[] {
    return this.#retiring;
  }

  /** Notes the stages of what answers from now on; undefined = nothing does. What answered before retires. */
  load(names: readonly string[] | undefined): void {
    this.#retiring = this.#loaded;
    this.#loaded = names ?? [];
    if (names === undefined) this.#missing = undefined;
  }

  /** To be called once what answered before is freed. */
  forgetRetired(): void {
    this.#retiring = [];
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

  /** True if a model takes or gives something else than when this was loaded, and nothing was loaded again for that. */
  areOthersThan(loaded: Servable | undefined): boolean {
    const changed = loaded && this.#needed.changedSince(loaded);
    return changed !== undefined && changed !== this.#renewedFor;
  }

  /** Notes that it is about to be loaded again for that. */
  renewFor(loaded: Servable | undefined): void {
    this.#renewedFor = loaded && this.#needed.changedSince(loaded);
  }

  /** As {@link NeededModels.lackOf}, of the models that the load needs. */
  get lack(): NamingLack | undefined {
    return this.#needed.lackOf(this.#names, this.#allVersions);
  }

  /** The error for the reason why the load waits, as it was planned just now. */
  tell({ code, text, end }: Problem): ServingError {
    const { lack } = this;
    this.#told = namingError(code, (hears) => (lack === undefined ? text : lack.textFor(hears) + end));
    return this.#told;
  }

  /** True for the error that was told last since the load began. */
  wasTold(failure: unknown): boolean {
    return failure === this.#told;
  }
}
