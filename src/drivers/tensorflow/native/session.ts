import { failedPrecondition, ServingError } from "../../../errors.ts";
import { unlessAborted } from "../../../platform/async/cancel-source.ts";
import { NativeObject, type Pointer, runAsync } from "../../../platform/native/bind-functions.ts";
import { AbandonedRuns, RunLimit } from "../../../platform/native/cancellable-runs.ts";
import { createTensor, type Tensor } from "../../../tensor/tensor.ts";
import type { TensorflowApi } from "./c-api.ts";
import { withStatus, withStatusAsync } from "./c-api.ts";
import { type GraphTensor, TensorflowGraph } from "./graph.ts";
import { type Feed, runSession } from "./run-session.ts";
import type { ShapeGuard } from "./shape-guard.ts";

/** Limits of the usefulness of a run. */
interface RunLimits {
  /** Ends the wait for the answer when it aborts; the run itself continues until its deadline. */
  readonly signal?: AbortSignal;
  readonly deadlineMs?: number | undefined;
}

/** Parts of a run that few have. */
export interface RunExtras extends RunLimits {
  /** Operations that run although nothing of them is fetched. */
  readonly targets?: readonly Pointer[];
}

/** Parts of a session, and the way it is run. */
export interface SessionParts {
  readonly graph: NativeObject;
  /** Runs that may overlap. */
  readonly limit: number;
  /** Called when abandoned runs leave no room for others. */
  readonly onStuck: () => void;
  /** Refuses runs that would end the process. */
  readonly shapes?: ShapeGuard | undefined;
}

/** Milliseconds that such runs may leave no room. */
const STUCK_MS = 30_000;

/** A loaded graph with its variables. A limited number of runs overlap; the others wait. */
export class TensorflowSession {
  readonly #tensors: TensorflowGraph;
  readonly #api: TensorflowApi;
  readonly #session: NativeObject;
  readonly #graph: NativeObject;
  readonly #runs: RunLimit;
  readonly #abandoned: AbandonedRuns;
  readonly #shapes: ShapeGuard | undefined;
  /** The runs whose callers wait. */
  readonly #answers = new Set<Promise<unknown>>();
  #closed = false;
  #ended: Promise<void> | undefined;

  /** Takes over the session and its graph: frees them in {@link close}. */
  constructor(api: TensorflowApi, session: Pointer, { graph, limit, onStuck, shapes }: SessionParts) {
    this.#api = api;
    this.#shapes = shapes;
    this.#abandoned = new AbandonedRuns({ limit, graceMs: STUCK_MS, onStuck });
    this.#graph = graph;
    this.#session = new NativeObject(session, (pointer) =>
      withStatus(api, (status) => api.TF_DeleteSession(pointer, status)),
    );
    this.#tensors = new TensorflowGraph(api, graph.pointer);
    this.#runs = new RunLimit(limit);
  }

  /** The operations and tensors; throws `failed_precondition` once the session is closed. */
  get graph(): TensorflowGraph {
    this.#checkOpen();
    return this.#tensors;
  }

  /**
   * Runs the operations that the fetched tensors need, and returns the tensors in order; a tensor that is also fed is
   * returned unchanged.
   */
  async run(feeds: readonly Feed[], fetches: readonly GraphTensor[], limits: RunExtras = {}): Promise<Tensor[]> {
    this.#checkOpen();
    // TensorFlow refuses to return fed tensors.
    const fed = fetches.map((fetch) => feeds.find(({ target }) => isSame(target, fetch))?.tensor);
    const unknown = fetches.filter((_, index) => fed[index] === undefined);
    const isIdle = unknown.length === 0 && !limits.targets?.length;
    const names = (limits.targets ?? []).map((operation) => this.#api.TF_OperationName(operation) ?? "");
    this.#shapes?.check(feeds, [...unknown.map(({ name }) => name), ...names]);
    const computed = isIdle ? [] : await this.#compute(feeds, unknown, limits);
    return fed.map((tensor) => (tensor === undefined ? computed.shift()! : copyOf(tensor)));
  }

  /** Waits for the runs with waiting callers, ends the others, and frees graph, session and variables. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#answers);
    await this.abandon();
  }

  /** Ends all runs, including those with waiting callers, and frees everything. */
  abandon(): Promise<void> {
    this.#closed = true;
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #compute(feeds: readonly Feed[], fetches: readonly GraphTensor[], limits: RunExtras): Promise<Tensor[]> {
    const { signal, deadlineMs, targets } = limits;
    const until = deadlineMs === undefined ? undefined : performance.now() + deadlineMs;
    let running: Promise<Tensor[]> | undefined;
    const run = this.#runs.run(async () => {
      if (signal?.aborted) throw signal.reason;
      if (this.#ended !== undefined) throw new ServingError("unavailable", "The model is loaded again.");
      const timeoutMs = until === undefined ? undefined : until - performance.now();
      running = runSession(this.#api, this.#session.pointer, { feeds, fetches, targets, timeoutMs });
      return running;
    });
    if (signal === undefined) return this.#keep(run);
    return this.#keep(unlessAborted(run, signal)).catch((reason: unknown) => {
      if (signal.aborted && running !== undefined) this.#abandoned.add(running);
      throw reason;
    });
  }

  /** Counts a caller that waits for an answer. */
  #keep<Answer>(answer: Promise<Answer>): Promise<Answer> {
    this.#answers.add(answer);
    return answer.finally(() => this.#answers.delete(answer));
  }

  /** TensorFlow ends either all of a session's runs or none. */
  async #end(): Promise<void> {
    const { TF_CloseSession } = this.#api;
    if (!this.#runs.isIdle) {
      await withStatusAsync(this.#api, (status) => runAsync(TF_CloseSession, this.#session.pointer, status));
    }
    await this.#runs.idle();
    this.#session.release();
    this.#graph.release();
  }

  #checkOpen(): void {
    if (this.#closed) throw failedPrecondition("The model is closed.");
  }
}

function isSame(one: GraphTensor, other: GraphTensor): boolean {
  return one.operation === other.operation && one.index === other.index;
}

/** Copies a run's result, which belongs to the caller. */
function copyOf({ dtype, shape, data }: Tensor): Tensor {
  const copy = dtype === "bytes" ? data.map((element) => element.slice()) : data.slice();
  return createTensor(dtype, shape, copy as never);
}
