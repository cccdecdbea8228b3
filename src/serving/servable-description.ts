import { isBatched, type ModelFacts } from "../models/model-facts.ts";
import type { HookFacts } from "../pipeline/hook-places.ts";
import type { Signature } from "../tensor/signature/signature.ts";

export { functionFacts } from "../pipeline/hook-places.ts";

/**
 * Facts about one loaded version, which everything that asks about it gets: made once, and again when its hooks are
 * replaced.
 */
export interface ServableDescription {
  readonly model: string;
  readonly version: bigint;
  /** Names of its drivers, in the order of its stages. Empty if a remote server does not report them. */
  readonly drivers: readonly string[];
  /** By name. Empty if a remote server does not report them. */
  readonly signatures: Readonly<Record<string, Signature>>;
  /**
   * The reason why parts of its graph cannot be run by tensor names; empty = they can, absent = a remote server does
   * not report it.
   */
  readonly graphRefusal?: string;
  /** Facts about its models, in the order of its stages, for people; absent if a remote server has it. */
  readonly models?: readonly ModelFacts[];
  /**
   * True if it answers in parts: a request with `parts` gets any number of them, and one without is answered only if
   * there is exactly one, or the hooks join them. Absent = it answers once, or a remote server does not report it.
   */
  readonly decoupled?: boolean;
  /** Facts about its hooks; absent = it has none, or a remote server has it. */
  readonly hooks?: HookFacts | undefined;
  /** Facts of its configuration; absent = it has none, or a remote server has it. */
  readonly configured?: ConfiguredFacts | undefined;
}

/** Facts of a model's configuration that its clients read, or must keep to. */
export interface ConfiguredFacts {
  /** Rows of a request at most; absent = no limit, or its shapes have no batch. */
  readonly maxRequestRows?: number;
  /** True = it may answer in parts, whether or not it does; false = it must not; absent = the model itself says. */
  readonly decoupled?: boolean;
  /** Texts by name that clients read in its configuration. */
  readonly parameters?: ReadonlyMap<string, string>;
}

/** Checks if one of its models answers several requests with one run. */
export function hasBatchedModel({ models = [] }: ServableDescription): boolean {
  return models.some(isBatched);
}

/** Rows that one run takes at most, as far as they are limited. */
export function mostRows(description: ServableDescription): number {
  return maxBatchSize(description) || Number.POSITIVE_INFINITY;
}

/**
 * Rows of a batch at most: of a single model that is batched, else of one request; 0 = there is no limit, or a remote
 * server does not report it.
 */
export function maxBatchSize({ models = [], configured }: ServableDescription): number {
  const [only, second] = models;
  const ofModel = second === undefined ? only?.maxBatchSize : undefined;
  return ofModel || configured?.maxRequestRows || 0;
}

/** The model whose inputs and outputs clients see: the only one, without hooks; undefined if there is none such. */
export function modelItself({ models = [], hooks }: ServableDescription): ModelFacts | undefined {
  const [only, second] = models;
  return second === undefined && !hooks?.hookPlaces.length ? only : undefined;
}
