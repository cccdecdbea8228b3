import type { ModelFacts } from "../models/model-facts.ts";
import type { HookFacts } from "../pipeline/hook-places.ts";
import type { Signature } from "../tensor/signature/signature.ts";

/**
 * Facts about one loaded version, which everything that asks about it gets: made once, and again when its hooks are
 * replaced.
 */
export interface ServableDescription {
  readonly model: string;
  readonly version: bigint;
  /** Names of its drivers, in the order of its stages. Empty where a remote server does not report them. */
  readonly drivers: readonly string[];
  /** By name. Empty where a remote server does not report them. */
  readonly signatures: Readonly<Record<string, Signature>>;
  /**
   * The reason why parts of its graph cannot be run by tensor names; empty = they can, absent = a remote server does
   * not report it.
   */
  readonly graphRefusal?: string;
  /** Facts about its models, in the order of its stages, for people; absent where a remote server has it. */
  readonly models?: readonly ModelFacts[];
  /** Facts about its hooks; absent = it has none, or a remote server has it. */
  readonly hooks?: HookFacts | undefined;
  /**
   * Maximum number of rows of a request, or in a batch of several; absent or 0 = there
   * is none, or a remote server does not report it.
   */
  readonly maxBatchSize?: number;
  /** Rows of a request at most, by its configuration; absent or 0 = no limit, or a remote server has it. */
  readonly maxRequestRows?: number;
  /** Texts by name that clients read in its configuration; absent where a remote server has it. */
  readonly parameters?: ReadonlyMap<string, string>;
}
