import { publicText, ServingError } from "../errors.ts";
import { staysCompatible } from "../tensor/signature/stays-compatible.ts";
import { errorFor, type Hears, namingError } from "./naming-error.ts";
import type { Dependent } from "./plan/changes.ts";
import type { Lack } from "./plan/loads.ts";
import type { Servable } from "./servable.ts";
import type { ServableDescription } from "./servable-description.ts";
import { servedNames } from "./served-names.ts";
import type { VersionState } from "./version-status.ts";

/** A version of a model that others may need. */
interface NeedingVersion {
  readonly failure: unknown;
  readonly status: { readonly state: VersionState };
  readonly needs: readonly string[];
  asDependentOf(need: string): Dependent;
}

/** A model that others may need. */
interface NeededModel {
  readonly name: string;
  readonly current: { readonly servable: Servable | undefined } | undefined;
  readonly versions: readonly NeedingVersion[];
  readonly isUnloaded: boolean;
  /** True while a version that should be served has neither been loaded nor failed. */
  readonly isLoading: boolean;
  readonly needs: ReadonlySet<string>;
}

/** A model that cannot answer, and the words for someone who may not hear of every model. */
export interface NamingLack extends Lack {
  readonly textFor: (hears: Hears) => string;
}

/** Every model, by name. */
interface ModelsByName {
  get(name: string): NeededModel | undefined;
  models(): readonly NeededModel[];
}

/** The models that stages of other models name, and when they can answer. */
export class NeededModels {
  readonly #catalog: ModelsByName;

  constructor(catalog: ModelsByName) {
    this.#catalog = catalog;
  }

  /** The reason why requests that need these models fail now; undefined if they do not fail. */
  problemOf(needs: readonly string[]): ServingError | undefined {
    const missing = this.#missing(needs);
    return missing && namingError("unavailable", missing.textFor);
  }

  /**
   * The signatures of a needed model that differ from those that this one was loaded with, or of one that answers in
   * parts where it did not, or the other way round.
   */
  changedSince({ needed }: Servable): ServableDescription["signatures"] | undefined {
    for (const { path: name, signatures, decoupled } of needed) {
      const now = this.#catalog.get(name)?.current?.servable?.description;
      if (now === undefined) continue;
      if (now.decoupled !== decoupled || !staysCompatible(signatures, now.signatures)) return now.signatures;
    }
    return undefined;
  }

  /** One of these models that cannot answer, or, with `allVersions`, whose versions have not all loaded or failed. */
  lackOf(needs: readonly string[], allVersions = false): NamingLack | undefined {
    return this.#missing(needs) ?? (allVersions ? this.#loading(needs) : undefined);
  }

  /** The loaded models, and those to be loaded, whose stages name this one. */
  dependentsOf(name: string): readonly NeededModel[] {
    return this.#catalog.models().filter((model) => model.needs.has(name));
  }

  /** Their versions that do, as they matter to one that should go. */
  dependents(name: string): readonly Dependent[] {
    const needing = this.dependentsOf(name).flatMap(({ versions }) =>
      versions.filter(({ needs }) => needs.includes(name)),
    );
    return needing.map((version) => version.asDependentOf(name));
  }

  /** True once every version of these models, and of those that they need, is available or has failed. */
  areSettled(names: Iterable<string>): boolean {
    // A set that grows while it is iterated also visits the added elements.
    const all = new Set(names);
    for (const name of all) {
      if (this.#catalog.get(name)?.isLoading === true) return false;
      for (const need of this.#catalog.get(name)?.needs ?? []) all.add(need);
    }
    return true;
  }

  #loading(needs: readonly string[]): NamingLack | undefined {
    const name = needs.find((need) => this.#catalog.get(need)?.isLoading === true);
    if (name === undefined) return undefined;
    const which = (hears: Hears) => (hears(name) ? `the model "${name}"` : "another model");
    return toLack((hears) => `It needs a version of ${which(hears)}, which is still loading.`, false);
  }

  #missing(needs: readonly string[]): NamingLack | undefined {
    for (const name of needs) {
      const model = this.#catalog.get(name);
      if (model?.current?.servable !== undefined) continue;
      const why = model === undefined ? notServed(name, this.#catalog) : whyNot(model);
      const textFor = (hears: Hears) =>
        hears(name) ? `It needs the model "${name}", ${why(hears)}` : "It needs another model, which is not available.";
      return toLack(textFor, model?.isLoading !== true);
    }
    return undefined;
  }
}

function toLack(textFor: NamingLack["textFor"], isSettled: boolean): NamingLack {
  return { text: textFor(() => true), textFor, isSettled };
}

function notServed(name: string, catalog: ModelsByName): (hears: Hears) => string {
  const names = catalog.models().map((model) => model.name);
  return (hears) => `which is not served.${servedNames(name, names.filter(hears))}`;
}

function whyNot({ versions, isUnloaded }: NeededModel): (hears: Hears) => string {
  const failure = versions.find((version) => version.failure !== undefined)?.failure;
  const state = WORDS[versions[0]?.status.state ?? "END"];
  if (isUnloaded) return () => "which a client has unloaded; load it again.";
  if (failure === undefined) return () => `which is ${state}.`;
  return (hears) =>
    `which could not be loaded: ${publicText(failure instanceof ServingError ? errorFor(failure, hears) : failure)}`;
}

const WORDS = {
  START: "waiting to be loaded",
  LOADING: "still loading",
  AVAILABLE: "available",
  UNLOADING: "being unloaded",
  END: "unloaded",
};
