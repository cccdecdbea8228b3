import type { CancelSignal } from "../async/cancel-source.ts";
import type { PredictCall } from "../drivers/driver.ts";
import type { Tensors } from "../tensor/tensor.ts";
import type { ModelFacts } from "./model-facts.ts";
import type { RunStatistics } from "./queue/run-statistics.ts";

/** How a pipeline reaches a model: asynchronous, so that the model may live in any thread. */
export interface ModelHandle extends ModelFacts {
  /** For hooks; plain data, or objects of async functions. */
  readonly hookArgs: Readonly<Record<string, unknown>>;
  /** Checks the inputs, waits for its turn, runs; throws only ServingError. */
  predict(inputs: Tensors, call: ModelCall): Promise<Tensors>;
  /** What its runs took until now, all copies together. */
  statistics(): Promise<RunStatistics>;
  /** Whether it can answer now; absent = always. */
  isReady?(): boolean;
  /** Waits for the last predict, then frees the model. Further calls return the same promise. */
  close(): Promise<void>;
}

/** How a pipeline calls a model. */
export interface ModelCall extends Omit<PredictCall, "deadlineMs" | "outputs" | "signal"> {
  /** Output names wanted; absent = all. */
  readonly outputs?: readonly string[] | undefined;
  /** Aborts when the request is cancelled or its deadline passes. */
  readonly signal: CancelSignal;
  /** When the caller stops waiting, in milliseconds since the epoch: a driver gets what is left of it when its turn has come. */
  readonly deadline?: number | undefined;
  /** Whether the inputs are of no further use to the caller, so that large ones may be handed over instead of copied. */
  readonly give?: boolean;
  /** Whether a hook gave the inputs, and they may hold an image's pixels or a single encoded picture for an input of numbers. */
  readonly fromHook?: boolean | undefined;
  /** 1 = highest; 0 (default) = none, after all others. */
  readonly priority?: number | undefined;
  /** How long it may wait for its turn, in milliseconds; 0 (default) = as long as it takes. */
  readonly queueTimeoutMs?: number | undefined;
  /** For the log; absent unless each run is logged. */
  readonly requestId?: string | undefined;
}

/** The plain data of a handle. */
export function factsOf(handle: ModelHandle): ModelFacts {
  const { driver, path, signatures, defaultSignature, echoes, loadMs } = handle;
  const { maxBatchSize, runtime, isPure, likelyInputs } = handle;
  return {
    ...{ driver, path, signatures, defaultSignature, echoes, loadMs },
    ...(maxBatchSize !== undefined && { maxBatchSize }),
    ...(runtime !== undefined && { runtime }),
    ...(isPure !== undefined && { isPure }),
    ...(likelyInputs !== undefined && { likelyInputs }),
  };
}
