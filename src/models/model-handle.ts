import type { Timeline } from "../observability/timeline.ts";
import type { CancelSignal } from "../platform/async/cancel-source.ts";
import type { CallLimits } from "../platform/limits/call-limits.ts";
import type { Tensors } from "../tensor/tensor.ts";
import type { ModelFacts } from "./model-facts.ts";
import type { RunStatistics } from "./queue/run-statistics.ts";

/** Access of a pipeline to a model: asynchronous, so that the model may live in any thread. */
export interface ModelHandle extends ModelFacts {
  /** For hooks; plain data, or objects of async functions. */
  readonly hookArgs: Readonly<Record<string, unknown>>;
  /** Checks the inputs, waits for its turn, runs; throws only ServingError. */
  predict(inputs: Tensors, call: ModelCall): Promise<Tensors>;
  /** Times and counts of its runs until now, all copies together. */
  statistics(): Promise<RunStatistics>;
  /** True while it can answer; absent = always. */
  isReady?(): boolean;
  /** Numbers of the processes that it runs in; absent = it has none. */
  processIds?(): readonly number[];
  /** Waits for the last predict, then frees the model. Further calls return the same promise. */
  close(): Promise<void>;
}

/** One call of a model by a pipeline. */
export interface ModelCall {
  /** A key of {@link ModelHandle.signatures}. */
  readonly signature: string;
  /** Output names wanted; absent = all. */
  readonly outputs?: readonly string[] | undefined;
  /**
   * Operations to run in addition, if inputs and outputs are those of the model's graph, by the names of its
   * tensors; absent = they are those of the signature.
   */
  readonly targets?: readonly string[] | undefined;
  /**
   * True if the caller has no further use for the inputs, so that large ones may be transferred instead of copied.
   */
  readonly transfer?: boolean | undefined;
  /** For the log; absent unless each run is logged. */
  readonly requestId?: string | undefined;
  /** Those of the request; absent = none. */
  readonly limits?: CallLimits | undefined;
  /** Aborts when the request is given up. */
  readonly signal: CancelSignal;
  /** Records the times of the stage's parts; absent = they are not wanted. */
  readonly timeline?: Timeline | undefined;
}

/** The plain data of a handle: all but the ways to call it. */
export function factsOf(handle: ModelHandle): ModelFacts {
  const { hookArgs, predict, statistics, isReady, processIds, close, ...facts } = handle;
  return facts;
}
