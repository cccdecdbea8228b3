import { publicText, reasonText, ServingError } from "../errors.ts";
import { findExampleInputs } from "../models/find-example-inputs.ts";
import type { Logger } from "../observability/logger.ts";
import type { InferRequest, InferResponse } from "../pipeline/infer-request.ts";
import { unlessAborted } from "../platform/async/cancel-source.ts";
import { settlesWithin } from "../platform/async/promises.ts";
import { NO_LIMITS } from "../platform/limits/call-limits.ts";
import { hidePaths } from "../platform/text/hide-paths.ts";
import type { ExampleInputs } from "../tensor/signature/example-inputs.ts";
import { defaultSignatureName } from "../tensor/signature/signature.ts";
import { IdleTimer, LeaseCount } from "./lease-count.ts";
import { SharedLoad } from "./load-gate.ts";
import type { ModelMemory, Unloadable } from "./model-memory.ts";
import type { Servable } from "./servable.ts";
import { hasBatchedModel } from "./servable-description.ts";
import { PastStatistics, RequestCounter, type ServableStatistics } from "./servable-statistics.ts";

/** Loading and unloading of a servable that stays available in between. */
export interface OnDemandOptions {
  /** Milliseconds without a request after which it is unloaded; 0 = never. */
  readonly idleUnloadMs: () => number;
  /** Reports if it may be unloaded now, if no request holds it. */
  readonly mayUnload: () => boolean;
  /** Loads it again, in one try; at once when `atOnce` aborts, since what waits for it may itself be loading. */
  readonly load: (signal: AbortSignal, atOnce: AbortSignal) => Promise<Servable>;
  /** Called after each load on demand, with the reason if it failed. */
  readonly onLoad: (failure: unknown) => void;
  /** Knows it while it may be unloaded to make room for other models. */
  readonly memory: Pick<ModelMemory, "add" | "delete">;
  readonly log: Logger;
}

/**
 * Milliseconds that a run whose client has left may keep an unloaded model's memory
 * before it is loaded again all the same.
 */
const UNLOAD_MS = 25_000;

/** Facts about a servable that are known while it is not loaded. */
type KnownFacts = Pick<Servable, "description" | "needed" | "hooksShareTensors"> & {
  readonly sources: readonly string[];
};

/** Collects the facts of a servable while it is loaded. */
function toKnownFacts(loaded: Servable): KnownFacts {
  const { description, needed, hooksShareTensors } = loaded;
  return { description, needed, hooksShareTensors, sources: loaded.sources() };
}

/**
 * A servable that gives its threads and memory back when no request has come for a while, and loads again for the next
 * one. Requests wait for that load; everything else is answered from known facts.
 */
export class OnDemandServable implements Servable, Unloadable {
  readonly name: string;
  readonly version: bigint;
  readonly leases = new LeaseCount();
  readonly requests = new RequestCounter();
  readonly #options: OnDemandOptions;
  readonly #closing = new AbortController();
  #facts: KnownFacts;
  #loaded: Servable | undefined;
  /** The last load, on the clock of performance.now(). */
  #loadedAt = performance.now();
  readonly #loading = new SharedLoad<Servable>();
  /** Aborts when the load that runs must wait for no other. */
  #hurry = new AbortController();
  #unloading: Promise<void> = Promise.resolve();
  /** Settles once what was unloaded has told its statistics. */
  #keeping: Promise<void> = Promise.resolve();
  /** Statistics of what has been unloaded. */
  readonly #past = new PastStatistics();
  readonly #idleTimer: IdleTimer;

  constructor(loaded: Servable, options: OnDemandOptions) {
    this.name = loaded.name;
    this.version = loaded.version;
    this.#options = options;
    this.#loaded = loaded;
    this.#facts = toKnownFacts(loaded);
    this.#idleTimer = new IdleTimer({
      idleMs: options.idleUnloadMs,
      isInUse: () => this.#isInUse,
      lastUse: () => this.lastUse,
      onIdle: (idleMs) => void this.unload(`no request for ${idleMs / 1000} s`),
    });
    options.memory.add(this);
    this.watchIdle();
  }

  get description() {
    return this.#loaded?.description ?? this.#facts.description;
  }

  get needed() {
    return this.#facts.needed;
  }

  get hooksShareTensors() {
    return this.#facts.hooksShareTensors;
  }

  get memoryBytes() {
    return this.#loaded?.memoryBytes ?? 0;
  }

  /** False while it waits for a request to load it. */
  get isLoaded(): boolean {
    return this.#loaded !== undefined;
  }

  get isIdle(): boolean {
    return this.#loaded !== undefined && !this.#isInUse;
  }

  get lastUse(): number {
    return Math.max(this.requests.lastEnd, this.#loadedAt);
  }

  run(request: InferRequest): Promise<InferResponse> {
    return this.#loaded === undefined ? this.#runOnDemand(request) : this.#loaded.run(request);
  }

  /** True while it is unloaded, too: it answers. */
  isReady(): boolean {
    return this.#loaded?.isReady() ?? true;
  }

  async statistics(): Promise<ServableStatistics> {
    // Not until it is freed, which a hook or a run may delay.
    await this.#keeping;
    const { models = [] } = this.description;
    const loadMs = models.reduce((sum, facts) => sum + facts.loadMs, 0);
    const known = { requests: this.requests.statistics(), loadMs, isBatched: hasBatchedModel(this.description) };
    return { ...known, ...(await this.#past.sumWith(this.#loaded)) };
  }

  async exampleInputs(): Promise<ExampleInputs | undefined> {
    if (this.#loaded !== undefined) return this.#loaded.exampleInputs();
    const { signatures } = this.description;
    return findExampleInputs(undefined, signatures[defaultSignatureName(signatures)] ?? {});
  }

  sources(): readonly string[] {
    return this.#loaded?.sources() ?? this.#facts.sources;
  }

  /** Hooks that are not loaded are read as they are then. */
  async reload(): Promise<void> {
    const loaded = this.#loaded ?? (await this.#loading.current);
    await loaded?.reload().catch((reason) => {
      // One that was unloaded meanwhile will read them with its next load.
      if (this.#loaded === loaded) throw reason;
    });
  }

  async close(): Promise<void> {
    this.#idleTimer.stop();
    this.#options.memory.delete(this);
    this.#closing.abort(new ServingError("unavailable", "The model is being unloaded."));
    await this.#loading.current?.catch(() => {});
    const loaded = this.#loaded;
    this.#loaded = undefined;
    await this.#unloading;
    await loaded?.close();
  }

  /** To be called if the time without requests has changed. */
  watchIdle(): void {
    if (this.#loaded !== undefined) this.#idleTimer.start();
  }

  get #isInUse(): boolean {
    return !this.leases.isIdle || !this.#options.mayUnload();
  }

  /** Frees it until the next request; resolves once that is done. */
  async unload(why: string): Promise<void> {
    const loaded = this.#loaded;
    if (loaded === undefined) return;
    this.#idleTimer.stop();
    this.#loaded = undefined;
    this.#facts = toKnownFacts(loaded);
    const keeping = this.#past.keep(loaded);
    this.#keeping = keeping.catch(() => {});
    this.#unloading = this.#free(loaded, keeping);
    this.#options.log.info("model unloaded", { ...this.#place, why });
    await this.#unloading;
  }

  async #free(loaded: Servable, keeping: Promise<void>): Promise<void> {
    try {
      await keeping;
      if (await settlesWithin(loaded.close(), UNLOAD_MS)) return;
      this.#options.log.warn("a model still runs and keeps its memory", this.#place);
    } catch (reason) {
      this.#options.log.warn(`a model was not unloaded as it should: ${reasonText(reason)}`, {
        ...this.#place,
        err: reason,
      });
    }
  }

  async #runOnDemand(request: InferRequest): Promise<InferResponse> {
    const { signal, limits = NO_LIMITS } = request.call;
    const { queueTimeoutMs = 0, depth = 0 } = limits;
    try {
      signal.throwIfAborted();
      const shared = this.#loading.run(() => this.#load());
      // Also if a request that may wait has begun the load.
      if (depth > 0) this.#hurry.abort();
      const loading = unlessAborted(shared, signal);
      if (queueTimeoutMs > 0 && !(await settlesWithin(loading, queueTimeoutMs))) throw waitedTooLong(queueTimeoutMs);
      return await (await loading).run(request);
    } catch (reason) {
      throw ServingError.from(reason);
    }
  }

  async #load(): Promise<Servable> {
    const { log, load, onLoad } = this.#options;
    const { signal } = this.#closing;
    const hurry = new AbortController();
    this.#hurry = hurry;
    const began = performance.now();
    try {
      await this.#unloading;
      signal.throwIfAborted();
      const loaded = await load(signal, hurry.signal);
      this.#loadedAt = performance.now();
      this.#loaded = loaded;
      this.#facts = toKnownFacts(loaded);
      log.info("model loaded on demand", { ...this.#place, ms: Math.round(this.#loadedAt - began) });
      onLoad(undefined);
      this.watchIdle();
      return loaded;
    } catch (reason) {
      const error = notLoaded(this, reason);
      if (!signal.aborted) onLoad(error);
      throw error;
    }
  }

  get #place() {
    return { model: this.name, version: String(this.version) };
  }
}

/** Maximum number of characters of a reason that clients get. */
const MAX_TEXT = 1024;

/** Not `not_found`, as the reason may be, which clients would take as one about the model's name. */
function notLoaded({ name, version }: Servable, reason: unknown): ServingError {
  const why = hidePaths(publicText(reason).slice(0, MAX_TEXT));
  const text = `Version ${version} of the model ${name} was unloaded while it was idle, and cannot be loaded again: ${why}`;
  return new ServingError("unavailable", text, { cause: reason });
}

function waitedTooLong(timeoutMs: number): ServingError {
  const text = `The request waited ${timeoutMs} ms for its model to load, its limit; send it later.`;
  return new ServingError("unavailable", text);
}
