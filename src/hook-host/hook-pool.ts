import { ServingError } from "../errors.ts";
import type { InitParams } from "../hooks/hooks.ts";
import type { ThreadCounts } from "../observability/thread-counts.ts";
import { type HookTimes, sumHookTimes } from "../pipeline/hook-times.ts";
import type { Payload } from "../pipeline/payload.ts";
import type { PipelineRequest, PipelineResult } from "../pipeline/pipeline-request.ts";
import type { PipelineRunner } from "../pipeline/runner.ts";
import type { Signature } from "../signature/signature.ts";
import { isGone, packedOf } from "../tensor/packed-bytes.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { wasNeverStarted } from "../threads/rpc-client.ts";
import { FairQueue } from "./fair-queue.ts";
import type { HookGeneration, HookStart } from "./hook-generation.ts";
import type { ModelProvider } from "./hook-leases.ts";
import type { HookWorker } from "./hook-worker.ts";

/** Parts of a pool in addition to the threads' own options. */
export interface HookPoolParts {
  readonly generation: HookGeneration;
  /** Opens the next generation, of the file as it is then; the signal aborts when the pool closes. */
  readonly open: (signal: AbortSignal) => Promise<HookGeneration>;
  readonly workers: number;
  readonly provider: ModelProvider;
  readonly params: InitParams;
}

/** Threads that may die before they begin a request: what more of them do not survive is the request itself, such as one too large to be read. */
const MAX_HANDED_ON = 20;

/** One queue of requests, by priority and fair to each kind, before the threads of one generation of hooks at a time. */
export class HookPool implements PipelineRunner {
  readonly #open: HookPoolParts["open"];
  readonly #start: HookStart;
  readonly #queue = new FairQueue<Waiting>();
  /** The current one, one that is being started, and those that have not yet ended. */
  readonly #generations = new Set<HookGeneration>();
  /** Number of threads that died before they began a request. */
  readonly #handedOn = new WeakMap<PipelineRequest, number>();
  readonly #closing = new AbortController();
  #generation: HookGeneration;
  /** Threads that were lost of the generations before. */
  #lostBefore = 0;
  /** Times of the hooks of the generations that have ended. */
  #timesBefore: readonly HookTimes[] = [];
  #warmUp: HookStart["warmUp"] = async () => {};
  /** Resolves once no reload runs or waits. */
  #reloaded: Promise<unknown> = Promise.resolve();

  constructor({ generation, open, workers, provider, params }: HookPoolParts) {
    this.#open = open;
    const warmUp: HookStart["warmUp"] = (thread) => this.#warmUp(thread);
    this.#start = { workers, provider, params, warmUp, onReady: () => this.#takeNext() };
    this.#generation = generation;
    this.#generations.add(generation);
  }

  get signatures(): Readonly<Record<string, Signature>> {
    return this.#generation.signatures;
  }

  isReady(): boolean {
    return this.#generation.isReady();
  }

  threads(): ThreadCounts {
    const { lost, ...current } = this.#generation.threads;
    return { ...current, lost: this.#lostBefore + lost };
  }

  hookTimes(): readonly HookTimes[] {
    const current = [...this.#generations].flatMap((generation) => generation.hookTimes());
    return sumHookTimes([...this.#timesBefore, ...current]);
  }

  /** The files that the hooks were made of. */
  get sources(): readonly string[] {
    return this.#generation.sources;
  }

  warmUpThreads(warmUp: HookStart["warmUp"]): void {
    this.#warmUp = warmUp;
  }

  /** Starts all threads; throws what init_hook threw, and has then ended them. */
  async start(): Promise<void> {
    try {
      await this.#generation.start(this.#start);
    } catch (reason) {
      await this.#generation.dispose();
      await this.#generation.returned();
      throw reason;
    }
  }

  /**
   * Replaces the threads by those of the hook file as it is now, one reload after the other; resolves once the old ones
   * have finished what they started. Where the new file fails, the old ones stay and this throws; a closed pool throws `unavailable`.
   */
  async reload(): Promise<void> {
    const replaced = this.#reloaded.then(() => this.#replaceGeneration());
    this.#reloaded = replaced.catch(() => {});
    const old = await replaced;
    await old.retire();
    this.#forget(old);
  }

  async run(request: PipelineRequest): Promise<PipelineResult> {
    this.#assertOpen();
    const { warmUp, timeline } = request.call;
    timeline?.beginWait();
    const worker = warmUp === undefined ? this.#generation.freest() : this.#generation.at(warmUp);
    if (worker !== undefined) return this.#runOn(worker, request);
    return new Promise((resolve, reject) => this.#enqueue({ request, resolve, reject }));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const { reject, stopWatching } of this.#queue.clear()) {
      stopWatching();
      reject(closedError());
    }
    await Promise.all([...this.#generations].map((generation) => generation.close()));
    await this.#reloaded;
    await Promise.all([...this.#generations].map((generation) => generation.returned()));
  }

  /** Resolves with the generation that was current until now. */
  async #replaceGeneration(): Promise<HookGeneration> {
    this.#assertOpen();
    const next = await this.#open(this.#closing.signal);
    this.#generations.add(next);
    try {
      this.#assertOpen();
      await next.start(this.#start);
      this.#assertOpen();
    } catch (reason) {
      await next.dispose();
      this.#forget(next);
      throw reason;
    }
    const old = this.#generation;
    this.#lostBefore += old.threads.lost;
    this.#generation = next;
    this.#takeNext();
    return old;
  }

  /** A model that the hooks loaded may take its time to come back; nothing but {@link close} waits for it. */
  #forget(generation: HookGeneration): void {
    void generation.returned().then(() => {
      this.#timesBefore = sumHookTimes([...this.#timesBefore, ...generation.hookTimes()]);
      this.#generations.delete(generation);
    });
  }

  #assertOpen(): void {
    if (this.#closing.signal.aborted) throw closedError();
  }

  async #runOn(worker: HookWorker, request: PipelineRequest): Promise<PipelineResult> {
    try {
      return await worker.run(request);
    } catch (reason) {
      if (wasNeverStarted(reason) && this.#canRunAgain(request)) return this.run(request);
      throw request.call.signal.aborted ? ServingError.from(request.call.signal.reason) : ServingError.from(reason);
    } finally {
      this.#takeNext();
    }
  }

  /**
   * Checks that a request that a thread did not begin may go to another, or wait for the next as any new request does.
   */
  #canRunAgain(request: PipelineRequest): boolean {
    const { inputs, call } = request;
    if (call.signal.aborted || this.#closing.signal.aborted || !isWhole(inputs)) return false;
    const times = this.#handedOn.get(request) ?? 0;
    this.#handedOn.set(request, times + 1);
    return times < MAX_HANDED_ON;
  }

  /** A request whose client is gone leaves the queue before it costs anything. */
  #enqueue({ request, resolve, reject }: Omit<Waiting, "stopWatching">): void {
    const { signal, priority } = request.call;
    const abort = () => {
      this.#queue.remove(waiting);
      reject(ServingError.from(signal.reason));
    };
    const waiting = { request, resolve, reject, stopWatching: () => signal.removeEventListener("abort", abort) };
    signal.addEventListener("abort", abort, { once: true });
    this.#queue.push(waiting, { priority, kind: queueKind(request) });
  }

  #takeNext(): void {
    for (let worker = this.#generation.freest(); worker !== undefined; worker = this.#generation.freest()) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      next.stopWatching();
      this.#runOn(worker, next.request).then(next.resolve, next.reject);
    }
  }
}

/** Requests of other inputs are other work, often for another model. */
function queueKind({ info, inputs }: PipelineRequest): string {
  return inputs.kind === "json" ? "json" : JSON.stringify([info.signature, ...Object.keys(inputs.tensors)]);
}

/** Checks that no input was transferred to a thread. */
function isWhole(payload: Payload): boolean {
  if (payload.kind === "json") return payload.json.length > 0;
  return Object.values(payload.tensors).every(isTensorWhole);
}

function isTensorWhole(tensor: Tensor): boolean {
  const packed = packedOf(tensor);
  if (packed !== undefined) return !isGone(packed);
  return tensor.data.length > 0 || elementCount(tensor.shape) === 0;
}

function closedError(): ServingError {
  return new ServingError("unavailable", "The hooks are closed.");
}

interface Waiting {
  readonly request: PipelineRequest;
  readonly resolve: (result: PipelineResult) => void;
  readonly reject: (reason: unknown) => void;
  /** Ends its care for the request's signal: the thread that it goes to watches that. */
  readonly stopWatching: () => void;
}
