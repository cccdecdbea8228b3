import type { PredictCall } from "../drivers/driver.ts";
import type { Tensors } from "../tensor/tensor.ts";
import type { ModelFacts } from "./model-facts.ts";

/** How a pipeline reaches a model: asynchronous, so that the model may live in any thread. */
export interface ModelHandle extends ModelFacts {
  /** For hooks; plain data, or objects of async functions. */
  readonly hookArgs: Readonly<Record<string, unknown>>;
  /** Checks the inputs, waits for its turn, runs; throws only ServingError. */
  predict(inputs: Tensors, call: ModelCall): Promise<Tensors>;
  /** Waits for the last predict, then frees the model. Further calls return the same promise. */
  close(): Promise<void>;
}

/** How a pipeline calls a model. */
export interface ModelCall extends Omit<PredictCall, "deadlineMs"> {
  /** When the caller stops waiting, in milliseconds since the epoch: a driver gets what is left of it when its turn has come. */
  readonly deadline?: number;
  /** Whether the inputs are of no further use to the caller, so that large ones may be handed over instead of copied. */
  readonly give?: boolean;
  /** 1 = highest; 0 (default) = none, after all others. */
  readonly priority?: number;
  /** How long it may wait for its turn, in milliseconds; 0 (default) = as long as it takes. */
  readonly queueTimeoutMs?: number;
}

/** The plain data of a handle. */
export function factsOf({ driver, path, signatures, defaultSignature, echoes, loadMs }: ModelHandle): ModelFacts {
  return { driver, path, signatures, defaultSignature, echoes, loadMs };
}
