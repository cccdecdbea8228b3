import type { TensorSpec } from "../signature/signature.ts";

/** Models of the server that run in sequence or in parallel, as soon as their inputs exist: Triton's ensemble. */
export interface Ensemble {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** In an order in which each step finds its inputs. */
  readonly steps: readonly EnsembleStep[];
}

/** One model of an ensemble. */
export interface EnsembleStep {
  readonly model: string;
  /** Absent = the highest version that is available when the step begins. */
  readonly version?: number;
  /** The model's own names of inputs, each with the name of the ensemble's tensor that it takes. */
  readonly inputs: Readonly<Record<string, string>>;
  /** The model's own names of outputs, each with the name of the ensemble's tensor. */
  readonly outputs: Readonly<Record<string, string>>;
}
