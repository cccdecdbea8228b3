import type { Model } from "../drivers/driver.ts";
import type { Signature } from "../tensor/signature/signature.ts";

/** Facts that a driver states with a model, or leaves out. */
export const STATED_FACTS = [
  "runtime",
  "isPure",
  "isSteady",
  "likelyInputs",
  "unserved",
  "modelInfo",
  "memoryBytes",
] as const satisfies readonly (keyof Model)[];

/** Facts about a loaded model, as plain data that crosses threads. */
export interface ModelFacts extends Pick<Model, (typeof STATED_FACTS)[number]> {
  /** The driver's name. */
  readonly driver: string;
  readonly path: string;
  readonly signatures: Readonly<Record<string, Signature>>;
  /** The signature that runs if none is asked for. */
  readonly defaultSignature: string;
  /** True for a model that returns its inputs whatever they are, so that they need not become tensors first. */
  readonly echoes: boolean;
  /** Rows of one run at most, put together from waiting requests; absent = each runs alone. */
  readonly maxBatchSize?: number;
  /** True if parts of its graph can be run by the names of tensors. */
  readonly runsGraph?: boolean;
  /** True if other models may share its thread. */
  readonly sharesThread?: boolean;
  /** True if it runs in its own process, which may crash alone. */
  readonly isolated?: boolean;
  /** Milliseconds that loading took. */
  readonly loadMs: number;
}

/** Checks if waiting requests are put together for a run of the model. */
export function isBatched({ maxBatchSize = 0 }: Pick<ModelFacts, "maxBatchSize">): boolean {
  return maxBatchSize > 0;
}
