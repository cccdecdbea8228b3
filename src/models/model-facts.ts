import type { ModelNotes, Signature, TensorSpec, UnservedSignature } from "../tensor/signature/signature.ts";

/** Facts about a loaded model, as plain data that crosses threads. */
export interface ModelFacts {
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
  /** The runtime with its version and place; absent = nothing but this program. */
  readonly runtime?: string;
  /** True if a run leaves nothing behind; absent = not known. */
  readonly isPure?: boolean;
  /** True if the time of a run depends on the shapes of its inputs alone; absent = not known. */
  readonly isSteady?: boolean;
  /** True if parts of its graph can be run by the names of tensors. */
  readonly runsGraph?: boolean;
  /** Inputs on which the model probably runs, if the signatures do not say. */
  readonly likelyInputs?: readonly (readonly TensorSpec[])[];
  /** Signatures of its file that cannot be run, by name. */
  readonly unserved?: Readonly<Record<string, UnservedSignature>>;
  /** Notes of its exporter. */
  readonly modelInfo?: ModelNotes;
  /** Memory that it takes, in bytes; absent = not known. */
  readonly memoryBytes?: number;
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
