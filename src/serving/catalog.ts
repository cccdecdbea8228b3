import { invalidArgument, ServingError } from "../errors.ts";
import { didYouMean } from "../platform/text/nearest.ts";
import { retryInfo } from "../retry-info.ts";
import type { CatalogModel, CatalogVersion } from "./catalog-view.ts";
import type { ModelRef } from "./inference-service.ts";
import { namingError } from "./naming-error.ts";
import type { Servable } from "./servable.ts";
import { servedNames, unknownModel } from "./served-names.ts";
import { chooseTarget, type RoutedRequest, type Shadow, type TrafficTarget } from "./traffic.ts";

/** A version and the servable that answers its requests now. */
export type LoadedVersion = CatalogVersion & { readonly servable: Servable };

/** A model whose requests are copied, and the version that gets the copies. */
export interface ShadowedModel {
  readonly name: string;
  readonly shadow: Shadow;
  /** The version that gets the copies; undefined while it is not available. */
  readonly target: LoadedVersion | undefined;
}

/** Milliseconds that most models take to load, and a process to start. */
const AGAIN_MS = 1000;

/** The models by name, loaded or not; error texts are TensorFlow Serving's, which clients assert on. */
export class Catalog<Model extends CatalogModel = CatalogModel> {
  readonly #models = new Map<string, Model>();
  readonly #alias: string | undefined;
  readonly #last: string | undefined;

  /**
   * `alias`: a name that also means the model while there is only one. `last`: a model that loads while others are
   * served already, after a restart.
   */
  constructor(alias?: string, last?: string) {
    this.#alias = alias;
    this.#last = last;
  }

  add(model: Model): void {
    this.#models.set(model.name, model);
  }

  delete(name: string): void {
    this.#models.delete(name);
  }

  get(name: string): Model | undefined {
    return this.#models.get(name);
  }

  /** Every model. */
  models(): readonly Model[] {
    return [...this.#models.values()];
  }

  /** The model with this name; throws `not_found` with the known names. */
  require(name: string): Model {
    const model = this.#models.get(name);
    if (model !== undefined) return model;
    const names = [...this.#models.keys()];
    throw namingError("not_found", (hears) => `There is no model "${name}".${servedNames(name, names.filter(hears))}`);
  }

  /**
   * The name of the model that a name in a request means; empty and the alias mean the only model. Throws
   * `invalid_argument` for an empty one of several.
   */
  nameOf(given: string): string {
    if (given === "") return this.#onlyName();
    return given === this.#alias && this.#models.size === 1 ? this.#onlyName() : given;
  }

  /**
   * The version that a reference means: its version or its label's, else the one that the model's traffic rules choose,
   * else the highest available one. Version 0 means no version, unless version 0 exists. Without a request, the version
   * is only described.
   */
  resolve({ model: given, version, label }: ModelRef, request?: RoutedRequest): LoadedVersion {
    const name = this.nameOf(given);
    const model = this.#models.get(name);
    const wanted = label !== undefined && model !== undefined ? versionOf(model, label) : version;
    const isLatest = namesNone(wanted, model);
    const found = isLatest ? model && this.#route(model, request) : model?.find(wanted as bigint);
    if (isLoaded(found)) return found;
    throw this.#notFound(name, isLatest ? undefined : wanted, model);
  }

  /** Names of the inputs that decide where a request with this reference is routed; undefined if none do. */
  stickyInputs({ model: given, version, label }: ModelRef): readonly string[] | "all" | undefined {
    const model = this.#models.get(this.nameOf(given));
    const inputs = model?.traffic?.split?.stickyInputs;
    return inputs === undefined || label !== undefined || !namesNone(version, model) ? undefined : inputs;
  }

  /** The model to which a request is copied; undefined if this request is not. */
  shadowOf({ model: given, version, label }: ModelRef): ShadowedModel | undefined {
    const model = this.#models.get(this.nameOf(given));
    const shadow = model?.traffic?.shadow;
    if (model === undefined || shadow === undefined || label !== undefined || !namesNone(version, model))
      return undefined;
    if (Math.random() >= shadow.share) return undefined;
    const target = this.#targetOf(model, shadow);
    return { name: model.name, shadow, target: isLoaded(target) ? target : undefined };
  }

  #route(model: CatalogModel, request: RoutedRequest | undefined): CatalogVersion | undefined {
    const split = model.traffic?.split;
    if (split === undefined) return model.current;
    const isAvailable = (target: TrafficTarget) => isLoaded(this.#targetOf(model, target));
    const target = chooseTarget(split, isAvailable, request);
    return target === undefined ? model.current : this.#targetOf(model, target);
  }

  #targetOf(model: CatalogModel, { version, model: other = "" }: TrafficTarget): CatalogVersion | undefined {
    return version === undefined ? this.#models.get(other)?.current : model.find(version);
  }

  #notFound(name: string, version: bigint | undefined, model: CatalogModel | undefined): ServingError {
    if (model?.isLoading && name === this.#last) return loadsAgain(name);
    const wanted = version === undefined ? `Latest(${name})` : `Specific(${name}, ${version})`;
    const names = [...this.#models.keys()];
    const text = `Servable not found for request: ${wanted}`;
    if (model !== undefined) {
      const there = whatIsThere(model, version);
      return new ServingError("not_found", `${text}${there && `.${there}`}`);
    }
    return namingError("not_found", (hears) => {
      const { text: served, hint } = unknownModel(name, names.filter(hears));
      return { text: `${text}${served}`, hint };
    });
  }

  #onlyName(): string {
    const [name, ...others] = this.#models.keys();
    if (name !== undefined && others.length === 0) return name;
    throw invalidArgument(`ModelSpec has no name specified.${servedNames("", this.#models.keys())}`);
  }
}

function loadsAgain(name: string): ServingError {
  const message = `The model ${name} is being loaded in a process of its own, because the server's process died while it ran. Send the request again in a second.`;
  return new ServingError("unavailable", message, { details: [retryInfo(AGAIN_MS)] });
}

/** Checks if a request names no version: 0 is one if the model has it, and did not only have it once. */
function namesNone(version: bigint | undefined, model: CatalogModel | undefined): version is undefined | 0n {
  if (version !== 0n) return version === undefined;
  const zero = model?.find(0n);
  return zero === undefined || (zero.servable === undefined && !zero.isWanted);
}

function isLoaded(version: CatalogVersion | undefined): version is LoadedVersion {
  return version?.servable !== undefined;
}

function versionOf({ name, labels }: CatalogModel, label: string): bigint {
  const version = labels.get(label);
  if (version !== undefined) return version;
  const names = [...labels.keys()];
  const known = names.length === 0 ? "" : `.${didYouMean(label, names)} Model ${name} has ${names.join(", ")}.`;
  throw invalidArgument(`Unrecognized servable version label: ${label}${known}`);
}

function whatIsThere({ name, versions }: CatalogModel, version: bigint | undefined): string {
  const isThere = versions.some((one) => version === undefined || one.version === version);
  if (isThere) return " It is not loaded.";
  const numbers = versions.map((one) => one.version).toReversed();
  return numbers.length === 0 ? "" : ` Model ${name} has version ${numbers.join(", ")}.`;
}
