import type { TensorSpec } from "../signature/signature.ts";

/** Models of the server that run one after the other, or side by side, as their tensors are there: Triton's ensemble. */
export interface Ensemble {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** In an order in which each finds what it takes. */
  readonly steps: readonly EnsembleStep[];
}

/** One model of an ensemble. */
export interface EnsembleStep {
  readonly model: string;
  /** Left out = the highest that is available when the step begins. */
  readonly version?: number;
  /** The model's own names of inputs, each with the name of the ensemble's tensor that it takes. */
  readonly inputs: Readonly<Record<string, string>>;
  /** The model's own names of outputs, each with the name that the ensemble gives its tensor. */
  readonly outputs: Readonly<Record<string, string>>;
}
