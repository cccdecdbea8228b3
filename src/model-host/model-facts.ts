import type { Signature, TensorSpec } from "../signature/signature.ts";

/** What is known of a loaded model, as plain data that crosses threads. */
export interface ModelFacts {
  /** The driver's name. */
  readonly driver: string;
  readonly path: string;
  readonly signatures: Readonly<Record<string, Signature>>;
  /** The signature that runs where none is asked for. */
  readonly defaultSignature: string;
  /** Whether it returns its inputs whatever they are, so that they need not become tensors first. */
  readonly echoes: boolean;
  /** Rows of one run at most, put together from waiting requests; absent = each runs alone. */
  readonly maxBatchSize?: number;
  /** What runs it, with version and place; absent = nothing but this program. */
  readonly runtime?: string;
  /** Whether a run leaves nothing behind; absent = not known. */
  readonly isPure?: boolean;
  /** Inputs on which the model probably runs, where the signatures do not say. */
  readonly likelyInputs?: readonly (readonly TensorSpec[])[];
  /** How long loading took, in milliseconds. */
  readonly loadMs: number;
}
