import type { Model, PredictCall } from "../drivers/driver.ts";
import { failedPrecondition, publicText, ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import { steadyMs } from "../observability/steady-clock.ts";
import { type CancelSignal, toAbortSignal } from "../platform/async/cancel-source.ts";
import { NO_LIMITS } from "../platform/limits/call-limits.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { checkOutputs, type ForeignModel } from "./foreign-model.ts";
import type { ModelCall } from "./model-handle.ts";
import { type RunMark, whileMarked } from "./run-mark.ts";
import { copiedBytes, whileCounted } from "./while-counted.ts";

/** A loaded model, and what its runs need besides their inputs. */
export interface RunnableModel {
  readonly model: Model;
  /** The driver's name. */
  readonly driver: string;
  /** True if requests are copied into batches. */
  readonly isBatched: boolean;
  /** Of a user's own driver, whose outputs are checked; absent for others. */
  readonly foreign?: ForeignModel | undefined;
  /** Absent = its runs are not marked. */
  readonly mark?: RunMark | undefined;
  readonly log: Logger;
}

/** Creates a function that runs a model; the copies that batches and the driver make of inputs count as memory. */
export function createRun(runnable: RunnableModel) {
  const copies = (runnable.isBatched ? 1 : 0) + (runnable.model.copiesInputs === true ? 1 : 0);
  return (inputs: Tensors, call: ModelCall): Promise<Tensors> =>
    copies === 0
      ? predict(runnable, inputs, call)
      : whileCounted(copiedBytes(inputs, copies), () => predict(runnable, inputs, call));
}

/** Runs a part of the model's graph, past the signature's checks and the queue: the runtime itself limits such runs. */
export async function runGraph(runnable: RunnableModel, inputs: Tensors, call: ModelCall): Promise<Tensors> {
  const { model, driver, mark } = runnable;
  const { outputs: fetches = [], targets = [] } = call;
  if (model.runGraph === undefined) throw failedPrecondition(`The ${driver} model does not run parts of a graph.`);
  const { signal, deadlineMs } = new DriverCall(call);
  const run = { fetches, targets, signal, ...(deadlineMs !== undefined && { deadlineMs }) };
  const copies = model.copiesInputs === true ? 1 : 0;
  const ran = () =>
    whileCounted(copiedBytes(inputs, copies), () => whileMarked(mark, async () => model.runGraph!(inputs, run)));
  return timed(ran, call, runnable);
}

async function predict(runnable: RunnableModel, inputs: Tensors, call: ModelCall): Promise<Tensors> {
  const { model, foreign, mark, log } = runnable;
  const asked = () => model.predict(inputs, new DriverCall(call));
  const run = foreign === undefined ? asked : async () => checkOutputs(await asked(), foreign);
  if (call.timeline !== undefined || log.level === "trace") return timed(() => whileMarked(mark, run), call, runnable);
  try {
    return await whileMarked(mark, run);
  } catch (reason) {
    throw runError(reason, call, runnable);
  }
}

/** Runs a model, and records the duration. */
async function timed(run: () => Promise<Tensors>, call: ModelCall, runnable: RunnableModel): Promise<Tensors> {
  const { driver, log } = runnable;
  const start = steadyMs();
  let code: string | undefined;
  try {
    return await run();
  } catch (reason) {
    const error = runError(reason, call, runnable);
    code = ServingError.from(error).code;
    throw error;
  } finally {
    const end = steadyMs();
    call.timeline?.add("model", start, end, { code });
    if (log.level === "trace") log.trace("predict", { requestId: call.requestId, driver, ms: end - start });
  }
}

/** The error of a run: its own, the signal's reason, or `internal` with what the driver threw. */
export function runError(reason: unknown, { signal }: ModelCall, { driver }: Pick<RunnableModel, "driver">): unknown {
  if (reason instanceof ServingError) return reason;
  if (signal.aborted) return signal.reason;
  return new ServingError("internal", `The ${driver} model failed: ${publicText(reason)}`, { cause: reason });
}

/** A call as its driver sees it. */
class DriverCall implements PredictCall {
  readonly signature: string;
  readonly outputs?: readonly string[];
  readonly isTrial?: boolean;
  /** Time left of the deadline when the run begins, in milliseconds. */
  readonly deadlineMs?: number;
  readonly #signal: CancelSignal;

  constructor({ signature, outputs, limits = NO_LIMITS, signal }: ModelCall) {
    const { deadline, warmUp } = limits;
    this.signature = signature;
    this.#signal = signal;
    if (outputs !== undefined) this.outputs = outputs;
    if (warmUp !== undefined) this.isTrial = true;
    if (deadline !== undefined) this.deadlineMs = Math.max(0, deadline - Date.now());
  }

  /** Created lazily: few drivers read it. */
  get signal(): AbortSignal {
    return toAbortSignal(this.#signal);
  }
}
