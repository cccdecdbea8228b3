import type { Model, PartsModel, PredictCall } from "../drivers/driver.ts";
import { failedPrecondition, publicText, reasonText, ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import { steadyMs } from "../observability/steady-clock.ts";
import { notOneAnswer } from "../one-answer.ts";
import { type CancelSignal, followSignal, toAbortSignal, unlessAborted } from "../platform/async/cancel-source.ts";
import { settlesWithin } from "../platform/async/promises.ts";
import { NO_LIMITS } from "../platform/limits/call-limits.ts";
import { StreamTurns } from "../platform/limits/stream-turns.ts";
import type { TensorSpec } from "../tensor/signature/signature.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { checkOutputs, checkParts, type ForeignModel } from "./foreign-model.ts";
import type { ModelCall, ModelParts } from "./model-handle.ts";
import { type RunMark, whileMarked } from "./run-mark.ts";
import type { ModelTurns } from "./threads/thread-turns.ts";
import { copiedBytes, whileCounted } from "./while-counted.ts";

/** A loaded model, and what its runs need besides their inputs. */
export interface RunnableModel {
  readonly model: Model | PartsModel;
  /** The driver's name. */
  readonly driver: string;
  /** True if requests are copied into batches. */
  readonly isBatched: boolean;
  /** Of a user's own driver, whose outputs are checked; absent for others. */
  readonly foreign?: ForeignModel | undefined;
  /** The outputs that it declares, by signature; absent for others. */
  readonly declared?: ReadonlyMap<string, readonly TensorSpec[] | undefined>;
  /** Absent = its runs are not marked. */
  readonly mark?: RunMark | undefined;
  /** Turns of a model that shares its thread; absent = it has its own. */
  readonly turns?: ModelTurns | undefined;
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
  if (model.predict === undefined || (call.parts !== undefined && model.predictStream !== undefined))
    return timed(() => answerInParts(runnable as RunnableParts, inputs, call), call, runnable);
  const asked = () => model.predict!(inputs, new DriverCall(call));
  const run =
    foreign === undefined ? asked : async () => checkOutputs(await asked(), foreign, declaredOutputs(runnable, call));
  if (call.timeline !== undefined || log.level === "trace") return timed(() => whileMarked(mark, run), call, runnable);
  try {
    return await whileMarked(mark, run);
  } catch (reason) {
    throw runError(reason, call, runnable);
  }
}

/** The outputs of a call's signature, and those that it asks for. */
function declaredOutputs({ declared }: RunnableModel, { signature, outputs }: Omit<ModelCall, "signal">) {
  return { declared: declared?.get(signature), needed: outputs };
}

/** Outputs that a model declares, by signature; a batch has any number of rows. */
export function outputsOf({ signatures }: Pick<Model, "signatures">, isBatched: boolean) {
  const ofBatch = ({ shape, ...spec }: TensorSpec) => (shape ? { ...spec, shape: [-1, ...shape.slice(1)] } : spec);
  const own = Object.entries(signatures);
  return new Map(own.map(([name, { outputs }]) => [name, isBatched ? outputs?.map(ofBatch) : outputs] as const));
}

/** A model that answers in parts. */
type RunnableParts = RunnableModel & { readonly model: Required<Pick<Model, "predictStream">> };

/** Time after which a run that has not ended with its reader is reported, in milliseconds. */
const LEAVE_MS = 2000;

/** Resolves once all parts were taken, without outputs; if one answer is wanted, with the only part. */
async function answerInParts(runnable: RunnableParts, inputs: Tensors, call: ModelCall): Promise<Tensors> {
  const { foreign, driver } = runnable;
  const { parts } = call;
  if (parts !== undefined) {
    await runParts(runnable, inputs, { ...call, parts });
    return {};
  }
  const name = foreign?.model ?? driver;
  let only: Tensors | undefined;
  const write = async (part: Tensors) => {
    if (only !== undefined) throw notOneAnswer(name, 2);
    only = part;
  };
  await runParts(runnable, inputs, { ...call, parts: { write } });
  if (only === undefined) throw notOneAnswer(name, 0);
  return only;
}

/** A call whose parts are taken. */
type PartsCall = ModelCall & { readonly parts: ModelParts };

/** Settles only once the model's iterator has ended, also if it was left: its run takes a place until then. */
async function runParts(runnable: RunnableParts, inputs: Tensors, { signal, ...call }: PartsCall): Promise<void> {
  signal.throwIfAborted();
  const { source: own, leave } = followSignal(signal);
  const run = new PartsRun(runnable, inputs, { ...call, signal: own });
  try {
    const turns = new StreamTurns(call.limits?.client);
    for (let number = 1; await run.writeNext(number); number++) {
      const turn = turns.next();
      if (turn !== undefined) await turn;
    }
  } catch (reason) {
    // Before the signal aborts: whatever fails after that counts as given up.
    const error = runError(reason, { ...call, signal: own }, runnable);
    own.abort(reason);
    call.onFailed?.(error);
    await run.leave();
    throw reason;
  } finally {
    leave();
  }
}

/** One run of a model that answers in parts. */
class PartsRun {
  readonly #runnable: RunnableParts;
  readonly #inputs: Tensors;
  readonly #call: PartsCall;
  #iterator: AsyncIterator<Tensors, unknown> | undefined;
  #asked: Promise<unknown> = Promise.resolve();
  #isOver = false;

  constructor(runnable: RunnableParts, inputs: Tensors, call: PartsCall) {
    this.#runnable = runnable;
    this.#inputs = inputs;
    this.#call = call;
  }

  /** Resolves with true once the next part was taken, with false at the end. */
  async writeNext(number: number): Promise<boolean> {
    const { signal } = this.#call;
    const next = await unlessAborted(this.#next(), signal);
    if (next.done === true) return false;
    const { foreign } = this.#runnable;
    const part = foreign
      ? checkOutputs(next.value, foreign, { ...declaredOutputs(this.#runnable, this.#call), part: number })
      : next.value;
    await this.#write(part);
    return true;
  }

  /** Has the iterator end, if it has not; resolves once it has. */
  async leave(): Promise<void> {
    if (this.#isOver || this.#iterator === undefined) return;
    const { driver, log } = this.#runnable;
    const ended = Promise.all([this.#asked, whileMarked(this.#runnable.mark, () => this.#iterator?.return?.())]);
    try {
      if (!(await settlesWithin(ended, LEAVE_MS)))
        log.warn(
          `a run of the ${driver} model has not ended within ${LEAVE_MS} ms after its reader left; it takes a place`,
        );
      await ended;
    } catch (err) {
      log.warn(`a run of the ${driver} model failed after its reader had left: ${reasonText(err)}`, { err });
    }
  }

  #open(): AsyncIterator<Tensors, unknown> {
    const { model, foreign } = this.#runnable;
    const parts = model.predictStream(this.#inputs, new DriverCall(this.#call));
    return (foreign === undefined ? parts : checkParts(parts, foreign))[Symbol.asyncIterator]();
  }

  async #next(): Promise<IteratorResult<Tensors, unknown>> {
    const asked = whileMarked(this.#runnable.mark, () => {
      this.#iterator ??= this.#open();
      return this.#iterator.next();
    });
    this.#asked = asked.catch(() => {});
    try {
      const next = await asked;
      this.#isOver = next.done === true;
      return next;
    } catch (reason) {
      this.#isOver = true;
      throw reason;
    }
  }

  /** Other models of the thread have their turns while the reader takes its time. */
  async #write(part: Tensors): Promise<void> {
    const { parts, signal, taking } = this.#call;
    const { turns } = this.#runnable;
    const since = performance.now();
    if (taking !== undefined) taking.since = since;
    turns?.end();
    try {
      await unlessAborted(parts.write(part), signal);
    } finally {
      if (taking !== undefined) {
        taking.ms += performance.now() - since;
        taking.since = undefined;
      }
      await turns?.begin();
    }
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
