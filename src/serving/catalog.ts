import { ServingError } from "../errors.ts";
import { didYouMean } from "../text/nearest.ts";
import type { ModelRef } from "./inference-service.ts";
import type { ManagedModel } from "./managed-model.ts";
import type { ManagedVersion } from "./managed-version.ts";
import type { Servable } from "./servable.ts";
import { servedNames } from "./served-names.ts";

/** A version with what answers its requests now. */
export type LoadedVersion = ManagedVersion & { readonly servable: Servable };

/** The models by name, loaded or not; error texts are TensorFlow Serving's, which clients assert on. */
export class Catalog {
  readonly #models = new Map<string, ManagedModel>();

  add(model: ManagedModel): void {
    this.#models.set(model.name, model);
  }

  delete(name: string): void {
    this.#models.delete(name);
  }

  get(name: string): ManagedModel | undefined {
    return this.#models.get(name);
  }

  /** Every model. */
  models(): readonly ManagedModel[] {
    return [...this.#models.values()];
  }

  /** The model of a name; throws `not_found` with the names that there are. */
  require(name: string): ManagedModel {
    const model = this.#models.get(name);
    if (model !== undefined) return model;
    throw new ServingError("not_found", `There is no model "${name}".${servedNames(name, this.#models.keys())}`);
  }

  /** The version that a reference means: its version or its label's, else the highest one that is available. Version 0 stands for no version, unless there is one. */
  resolve({ model: given, version, label }: ModelRef): LoadedVersion {
    const name = given === "" ? this.#onlyName() : given;
    const model = this.#models.get(name);
    const wanted = label !== undefined && model !== undefined ? versionOf(model, label) : version;
    const isLatest = wanted === undefined || (wanted === 0n && model?.find(0n) === undefined);
    const found = isLatest ? model?.current : model?.find(wanted);
    if (isLoaded(found)) return found;
    throw this.#notFound(name, isLatest ? undefined : wanted, model);
  }

  #notFound(name: string, version: bigint | undefined, model: ManagedModel | undefined): ServingError {
    const wanted = version === undefined ? `Latest(${name})` : `Specific(${name}, ${version})`;
    const hint = model === undefined ? servedNames(name, this.#models.keys()) : whatIsThere(model, version);
    return new ServingError("not_found", `Servable not found for request: ${wanted}${hint && `.${hint}`}`);
  }

  #onlyName(): string {
    const [name, ...others] = this.#models.keys();
    if (name !== undefined && others.length === 0) return name;
    throw new ServingError(
      "invalid_argument",
      `ModelSpec has no name specified.${servedNames("", this.#models.keys())}`,
    );
  }
}

function isLoaded(version: ManagedVersion | undefined): version is LoadedVersion {
  return version?.servable !== undefined;
}

function versionOf({ name, labels }: ManagedModel, label: string): bigint {
  const version = labels.get(label);
  if (version !== undefined) return version;
  const names = [...labels.keys()];
  const known = names.length === 0 ? "" : `.${didYouMean(label, names)} Model ${name} has ${names.join(", ")}.`;
  throw new ServingError("invalid_argument", `Unrecognized servable version label: ${label}${known}`);
}

function whatIsThere({ name, versions }: ManagedModel, version: bigint | undefined): string {
  const isThere = versions.some((one) => version === undefined || one.version === version);
  if (isThere) return " It is not loaded.";
  const numbers = versions.map((one) => one.version).toReversed();
  return numbers.length === 0 ? "" : ` Model ${name} has version ${numbers.join(", ")}.`;
}
