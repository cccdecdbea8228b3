import { ServingError } from "../errors.ts";
import type { Timeline } from "../observability/timeline.ts";
import type { CancelSignal } from "../platform/async/cancel-source.ts";
import type { CallLimits } from "../platform/limits/call-limits.ts";
import type { MemoryShare } from "../platform/limits/memory/memory-share.ts";
import type { Tensors } from "../tensor/tensor.ts";
import type { ModelFacts } from "./model-facts.ts";
import type { RunStatistics } from "./queue/run-statistics.ts";

/** Access of a pipeline to a model: asynchronous, so that the model may live in any thread. */
export interface ModelHandle extends ModelFacts {
  /** For hooks; plain data, or objects of async functions. */
  readonly hookArgs: Readonly<Record<string, unknown>>;
  /**
   * Checks the inputs, waits for its turn, runs; throws only ServingError. With `call.parts`, resolves without outputs
   * once all parts were taken.
   */
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

/** Takes the parts of a model's answer, one after the other. */
export interface ModelParts {
  /**
   * Takes the next part, whose buffers are the taker's then; called again only once the promise before has resolved.
   * Rejects if no more are taken: the model's run is ended then.
   */
  write(part: Tensors): Promise<void>;
  /** Told now and then, while others wait for the place that the run holds; absent = it makes no difference. */
  crowded?(): void;
}

/** Time that a run in parts waits for who takes them. */
interface TakingTime {
  /** Milliseconds until now, without the present wait. */
  ms: number;
  /** Start of the present wait, on the clock of performance.now(); undefined = the model works. */
  since: number | undefined;
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
  /** Takes the parts of the answer of a model that is {@link ModelFacts.decoupled}; absent = one answer is wanted. */
  readonly parts?: ModelParts | undefined;
  /** Time that the taker of parts takes; absent = it is not measured. */
  readonly taking?: TakingTime | undefined;
  /** Told the error of a run in parts before its generator has ended; absent = none is wanted until then. */
  readonly onFailed?: ((error: unknown) => void) | undefined;
  /** Counts parts that are not taken yet; absent = they are not counted. */
  readonly memory?: Pick<MemoryShare, "grow" | "shrink" | "partBytes"> | undefined;
  /** For the log; absent unless each run is logged. */
  readonly requestId?: string | undefined;
  /** Those of the request; absent = none. */
  readonly limits?: CallLimits | undefined;
  /** Aborts when the request is given up. */
  readonly signal: CancelSignal;
  /** Records the times of the stage's parts; absent = they are not wanted. */
  readonly timeline?: Timeline | undefined;
}

const ENOUGH = new ServingError("cancelled", "A try takes the first part of an answer.");

/** Runs a model for a try of the server's own, which ends with the first part of an answer in parts. */
export async function tryModel(model: ModelHandle, inputs: Tensors, call: ModelCall): Promise<void> {
  const parts = model.decoupled === true ? { write: () => Promise.reject(ENOUGH) } : undefined;
  await model.predict(inputs, { ...call, parts }).catch((reason) => {
    if (reason !== ENOUGH) throw reason;
  });
}

/** The plain data of a handle: all but the ways to call it. */
export function factsOf(handle: ModelHandle): ModelFacts {
  const { hookArgs, predict, statistics, isReady, processIds, close, ...facts } = handle;
  return facts;
}
