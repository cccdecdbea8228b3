import type { PredictCall, Signature } from "../drivers/driver.ts";
import type { Tensors } from "../tensor/tensor.ts";

/** How a pipeline reaches a model: asynchronous, so that the model may live in any thread. */
export interface ModelHandle {
  /** The driver's name. */
  readonly driver: string;
  readonly path: string;
  readonly signatures: Readonly<Record<string, Signature>>;
  /** The signature that runs where none is asked for. */
  readonly defaultSignature: string;
  /** For hooks; plain data, or objects of async functions. */
  readonly hookArgs: Readonly<Record<string, unknown>>;
  /** Whether it returns its inputs whatever they are, so that they need not become tensors first. */
  readonly echoes: boolean;
  /** How long loading took, in milliseconds. */
  readonly loadMs: number;
  /** Checks the inputs, waits for its turn, runs; throws only ServingError. */
  predict(inputs: Tensors, call: PredictCall): Promise<Tensors>;
  /** Waits for the last predict, then frees the model. Further calls return the same promise. */
  close(): Promise<void>;
}
