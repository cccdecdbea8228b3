import { ServingError } from "../../errors.ts";
import type { ThreadStates } from "../../observability/thread-states.ts";
import type { HookFacts } from "../../pipeline/hook-places.ts";
import { type HookTimes, sumHookTimes } from "../../pipeline/hook-times.ts";
import type { InferRequest, InferResponse } from "../../pipeline/infer-request.ts";
import { isIntact } from "../../pipeline/input-key.ts";
import { cutLargeJson, isLargeJson } from "../../pipeline/json-jobs.ts";
import type { PipelineRunner } from "../../pipeline/runner.ts";
import { wasNeverStarted } from "../../platform/threads/rpc-client.ts";
import type { Signature } from "../../tensor/signature/signature.ts";
import type { HookGeneration, HookStart } from "./hook-generation.ts";
import type { HookWorker, WorkerStart } from "./hook-worker.ts";
import { RequestQueue } from "./request-queue.ts";

/** Settings and services of a pool, in addition to the threads' own options. */
export interface HookPoolParts extends WorkerStart {
  readonly generation: HookGeneration;
  /** Opens the next generation, from the present file; the signal aborts when the pool closes. */
  readonly open: (signal: AbortSignal) => Promise<HookGeneration>;
  readonly workers: number;
}

/**
 * Number of threads that may die before they start a request; then the request itself is the cause, for example one too
 * large to be read.
 */
const MAX_HANDED_ON = 20;

/**
 * A queue of requests, fair to clients and, of each, to priorities and kinds, for the threads of one generation of
 * hooks at a time.
 */
export class HookPool implements PipelineRunner {
  readonly #open: HookPoolParts["open"];
  readonly #start: HookStart;
  readonly #queue = new RequestQueue();
  /** The current generation, a starting one, and those that have not yet ended. */
  readonly #generations = new Set<HookGeneration>();
  /** Number of threads that died before they started a request. */
  readonly #handedOn = new WeakMap<InferRequest, number>();
  readonly #closing = new AbortController();
  #generation: HookGeneration;
  /** Number of threads that earlier generations lost. */
  #lostBefore = 0;
  /** Hook times of ended generations. */
  #timesBefore: readonly HookTimes[] = [];
  #warmUp: HookStart["warmUp"] = async () => {};
  /** Resolves once no reload is running or waiting. */
  #reloaded: Promise<unknown> = Promise.resolve();

  constructor({ generation, open, workers, provider, params, served }: HookPoolParts) {
    this.#open = open;
    const warmUp: HookStart["warmUp"] = (thread) => this.#warmUp(thread);
    this.#start = { workers, provider, params, served, warmUp, onReady: () => this.#takeNext() };
    this.#generation = generation;
    this.#generations.add(generation);
  }

  get signatures(): Readonly<Record<string, Signature>> {
    return this.#generation.signatures;
  }

  get hooks(): HookFacts {
    return this.#generation.declared.facts;
  }

  isReady(): boolean {
    return this.#generation.isReady();
  }

  threads(): ThreadStates {
    const { lost, ...current } = this.#generation.threads;
    return { ...current, lost: this.#lostBefore + lost };
  }

  hookTimes(): readonly HookTimes[] {
    const current = [...this.#generations].flatMap((generation) => generation.hookTimes());
    return sumHookTimes([...this.#timesBefore, ...current]);
  }

  /** The files of the hooks. */
  get sources(): readonly string[] {
    return this.#generation.sources;
  }

  warmUpThreads(warmUp: HookStart["warmUp"]): void {
    this.#warmUp = warmUp;
  }

  /** Starts all threads; if init_hook throws, ends them and rethrows. */
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
   * Replaces the threads by those of the present hook file, one reload at a time. Resolves once the old threads have
   * finished their started requests. If the new file fails, the old threads stay and this throws; a closed pool
   * throws `unavailable`.
   */
  async reload(): Promise<void> {
    const replaced = this.#reloaded.then(() => this.#replaceGeneration());
    this.#reloaded = replaced.catch(() => {});
    const old = await replaced;
    await old.retire();
    this.#forget(old);
  }

  run(given: InferRequest): Promise<InferResponse> {
    if (!isLargeJson(given) || this.#closing.signal.aborted) return this.#begin(given);
    return cutLargeJson(given).then((request) => this.#begin(request));
  }

  /** A closed pool would never take it from its queue. */
  #begin(request: InferRequest): Promise<InferResponse> {
    if (this.#closing.signal.aborted) return Promise.reject(closedError());
    const { limits, timeline } = request.call;
    timeline?.beginWait();
    const warmUp = limits?.warmUp;
    const worker = warmUp === undefined ? this.#generation.freest() : this.#generation.at(warmUp);
    if (worker !== undefined) return this.#runOn(worker, request);
    const waiting = this.#queue.wait(request);
    this.#takeFew();
    return waiting;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#queue.clear(closedError());
    await Promise.all([...this.#generations].map((generation) => generation.close()));
    await this.#reloaded;
    await Promise.all([...this.#generations].map((generation) => generation.returned()));
  }

  /** Resolves with the former generation. */
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

  /** Models that the hooks loaded may take long to be returned; only {@link close} waits for them. */
  #forget(generation: HookGeneration): void {
    void generation.returned().then(() => {
      this.#timesBefore = sumHookTimes([...this.#timesBefore, ...generation.hookTimes()]);
      this.#generations.delete(generation);
    });
  }

  #assertOpen(): void {
    if (this.#closing.signal.aborted) throw closedError();
  }

  async #runOn(worker: HookWorker, request: InferRequest): Promise<InferResponse> {
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
   * Checks that a request that a thread did not start may be run by another, or wait for it like a new request.
   */
  #canRunAgain(request: InferRequest): boolean {
    const { inputs, call } = request;
    if (call.signal.aborted || this.#closing.signal.aborted || !isIntact(inputs)) return false;
    const times = this.#handedOn.get(request) ?? 0;
    this.#handedOn.set(request, times + 1);
    return times < MAX_HANDED_ON;
  }

  #takeNext(): void {
    for (let worker = this.#generation.freest(); worker !== undefined; worker = this.#generation.freest()) {
      const free = worker;
      if (!this.#queue.runNext((request) => this.#runOn(free, request))) return;
    }
    this.#takeFew();
  }

  /** Starts requests of kinds of which few run, if all threads have enough of others. */
  #takeFew(): void {
    const workerFor = (kind: string) => this.#generation.freestFor(kind);
    const run = (request: InferRequest, kind: string) => this.#runOn(workerFor(kind)!, request);
    while (this.#queue.runNext(run, (kind) => workerFor(kind) !== undefined));
  }
}

function closedError(): ServingError {
  return new ServingError("unavailable", "The hooks are closed.");
}
