import type { DType } from "../tensor/dtype.ts";

/** Inputs for a first request to a model. */
export interface ExampleInputs {
  readonly inputs: readonly ExampleInput[];
  /**
   * True where the model ran on them; absent = it was not tried, since hooks take the inputs, or a run may change the
   * model.
   */
  readonly ran?: boolean;
  /** True where the model still runs on the tried inputs; no code waits for it any more. */
  readonly stillRuns?: boolean;
  /** Names of inputs of which a size was guessed, beyond the first dimension, or everything but the name. */
  readonly guessed: readonly string[];
}

/** One input of an example: all elements are equal. */
export interface ExampleInput {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly element: ExampleElement;
}

/** A number, for booleans and complex numbers too, or the bytes of a string. */
type ExampleElement = 0 | 0.5 | 1 | Uint8Array;
