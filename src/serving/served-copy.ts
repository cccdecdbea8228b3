import { reasonText, ServingError } from "../errors.ts";
import { findExampleInputs } from "../models/find-example-inputs.ts";
import type { InferRequest, InferResponse } from "../pipeline/infer-request.ts";
import { unlessAborted } from "../platform/async/cancel-source.ts";
import { createDeferred, type Deferred, settlesWithin } from "../platform/async/promises.ts";
import { NO_LIMITS } from "../platform/limits/call-limits.ts";
import type { ExampleInputs } from "../tensor/signature/example-inputs.ts";
import { defaultSignatureName } from "../tensor/signature/signature.ts";
import type { Executed } from "./executor.ts";
import { LeaseCount } from "./lease-count.ts";
import type { LoadOrder, LoadRun } from "./load-run.ts";
import type { Unloadable } from "./model-memory.ts";
import { type Action, isUnused, notLoaded, RETIRE_MS, type Use, waitedTooLong } from "./plan/residence.ts";
import type { Servable } from "./servable.ts";
import { hasBatchedModel } from "./servable-description.ts";
import { PastStatistics, RequestCounter, type ServableStatistics } from "./servable-statistics.ts";
import type { VersionContext } from "./version-context.ts";

/** Facts and steps of one copy that its version knows. */
interface CopyOptions extends Pick<VersionContext<never>, "policy" | "log"> {
  readonly use: () => Pick<Use, "idleMs" | "isCurrent" | "isPresent">;
  readonly isNeeded: () => boolean;
  readonly load: (order: Pick<LoadOrder, "signal" | "isAtOnce">) => LoadRun;
  /** As {@link LeaseCount} calls it. */
  readonly onFree: () => void;
  /** Called after each load on demand, with the reason if it failed. */
  readonly onLoad: (failure: unknown) => void;
}

/** Facts about a servable that stay known while it is not loaded. */
function toKnownFacts(loaded: Servable) {
  const { description, needed, hooksShareTensors } = loaded;
  return { description, needed, hooksShareTensors, sources: loaded.sources() };
}

/**
 * A servable that the executor may free and load again, so that it stays available without its threads and memory.
 * Requests wait for that load; everything else is answered from known facts.
 */
export class ServedCopy implements Servable, Unloadable, Executed {
  readonly name: string;
  readonly version: bigint;
  readonly leases = new LeaseCount(() => this.#options.onFree());
  readonly requests = new RequestCounter();
  readonly #options: CopyOptions;
  readonly #closing = new AbortController();
  #facts: ReturnType<typeof toKnownFacts>;
  #loaded: Servable | undefined;
  /** The last load, on the clock of performance.now(). */
  #loadedAt = performance.now();
  /** Settles all that wait for it to be loaded; undefined while none do. */
  #arrival: Deferred<Servable> | undefined;
  #loading: Promise<void> = Promise.resolve();
  #successor: ServedCopy | undefined;
  /** The load that runs; it would hold the servable. */
  #run: LoadRun | undefined;
  /** The memory that is being given back. */
  #leaving: { readonly since: number; readonly over: Deferred<void> } | undefined;
  /** Settles once what was unloaded has told its statistics. */
  #keeping: Promise<void> = Promise.resolve();
  /** Statistics of what has been unloaded. */
  readonly #past = new PastStatistics();

  constructor(loaded: Servable, options: CopyOptions) {
    this.name = loaded.name;
    this.version = loaded.version;
    this.#options = options;
    this.#loaded = loaded;
    this.#facts = toKnownFacts(loaded);
    options.policy.executor.memory.add(this);
    options.policy.executor.adopt(this);
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
    return this.#loaded !== undefined && isUnused(this.use);
  }

  get lastUse(): number {
    return Math.max(this.requests.lastEnd, this.#loadedAt);
  }

  get use(): Use {
    const { use, isNeeded } = this.#options;
    return {
      ...use(),
      ...{ isHeld: !this.leases.isIdle, lastUse: this.lastUse },
      get isNeeded() {
        return isNeeded();
      },
    };
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
    const loaded = this.#loaded ?? (await this.#arrival?.promise);
    if (loaded === this.#successor) return;
    await loaded?.reload().catch((reason) => {
      // One that was unloaded meanwhile will read them with its next load.
      if (this.#loaded === loaded) throw reason;
    });
  }

  /** Has the copy that takes its place run its requests, those that wait and those to come, while it is not loaded. */
  giveWay(to: ServedCopy): void {
    this.#successor = to;
    if (this.#loaded !== undefined) return;
    this.#arrive().resolve(to);
    this.#closing.abort(new ServingError("unavailable", "Another copy of the model has taken its place."));
  }

  /** Frees it until the next request; resolves once that is done. */
  async unload(why: string): Promise<void> {
    this.#options.policy.executor.tell(this, { is: "crowded", why });
    await this.#leaving?.over.promise;
  }

  async close(): Promise<void> {
    const { executor } = this.#options.policy;
    executor.forget(this);
    executor.memory.delete(this);
    this.#closing.abort(new ServingError("unavailable", "The model is being unloaded."));
    await this.#loading;
    this.#arrival?.reject(notLoaded(this, this.#closing.signal.reason));
    const loaded = this.#loaded;
    this.#loaded = undefined;
    const { since = 0, over } = this.#leaving ?? {};
    // Memory that is being given back is waited for as long as the plan would.
    if (over && !(await settlesWithin(over.promise, since + RETIRE_MS - performance.now()))) this.#abandon();
    await loaded?.close();
  }

  act(action: Action): void {
    if (action.do === "park") this.#park(action.why);
    else if (action.do === "abandon") this.#abandon();
    else if (action.do === "load") this.#loading = this.#load(action.isAtOnce);
    else if (action.do === "hurry") this.#run?.hurry();
    else if (action.do === "refuse") this.#arrive().reject(action.error);
  }

  #park(why: string): void {
    const loaded = this.#loaded as Servable;
    this.#loaded = undefined;
    this.#note(() => {
      this.#facts = toKnownFacts(loaded);
    });
    this.#leaving = { since: performance.now(), over: createDeferred() };
    this.#options.log.info("model unloaded", { ...this.#place, why });
    void this.#free(loaded, this.#leaving.over);
  }

  async #free(loaded: Servable, over: Deferred<void>): Promise<void> {
    const { policy, log } = this.#options;
    // What never tells what it has counted is closed once it is given up.
    const keeping = Promise.race([this.#past.keep(loaded), over.promise]);
    this.#keeping = keeping.catch(() => {});
    try {
      await keeping.finally(() => loaded.close());
    } catch (err) {
      log.warn(`a model was not unloaded as it should: ${reasonText(err)}`, { ...this.#place, err });
    }
    if (this.#leaving?.over !== over) return;
    this.#leave();
    policy.executor.tell(this, { is: "freed" });
  }

  #abandon(): void {
    this.#options.log.warn("a model still runs and keeps its memory", this.#place);
    this.#leave();
  }

  #leave(): void {
    this.#leaving?.over.resolve();
    this.#leaving = undefined;
  }

  async #runOnDemand(request: InferRequest): Promise<InferResponse> {
    const { signal, limits: { queueTimeoutMs = 0, depth = 0 } = NO_LIMITS } = request.call;
    try {
      signal.throwIfAborted();
      const loading = unlessAborted(this.#demand(depth > 0), signal);
      if (queueTimeoutMs > 0 && !(await settlesWithin(loading, queueTimeoutMs))) throw waitedTooLong(queueTimeoutMs);
      const loaded = await loading;
      // It may be another copy than that of the lease.
      loaded.leases.take();
      return await loaded.run(request).finally(() => loaded.leases.release());
    } catch (reason) {
      throw ServingError.from(reason);
    }
  }

  /** Resolves once it is loaded. A request of another model may itself be part of a load. */
  #demand(isFromModel: boolean): Promise<Servable> {
    const { signal } = this.#closing;
    if (this.#successor !== undefined) return Promise.resolve(this.#successor);
    if (signal.aborted) return Promise.reject(notLoaded(this, signal.reason));
    const isFirst = this.#arrival === undefined;
    this.#arrival ??= createDeferred();
    const { promise } = this.#arrival;
    if (isFirst || isFromModel) this.#options.policy.executor.tell(this, { is: "demanded", isAtOnce: isFromModel });
    return promise;
  }

  /** Never rejects. */
  async #load(isAtOnce: boolean): Promise<void> {
    const { policy, log, load, onLoad } = this.#options;
    const { signal } = this.#closing;
    const began = performance.now();
    let loaded: Servable;
    try {
      this.#run = load({ signal, isAtOnce });
      loaded = (await this.#run.result) as Servable;
    } catch (reason) {
      const error = notLoaded(this, reason);
      if (!signal.aborted) this.#note(() => onLoad(error));
      policy.executor.tell(this, { is: "failed", error });
      this.#arrive().reject(error);
      return;
    }
    [this.#run, this.#loadedAt, this.#loaded] = [undefined, performance.now(), loaded];
    this.#note(() => {
      this.#facts = toKnownFacts(loaded);
      log.info("model loaded on demand", { ...this.#place, ms: Math.round(this.#loadedAt - began) });
      onLoad(undefined);
    });
    policy.executor.tell(this, { is: "loaded" });
    policy.executor.memory.changed();
    this.#arrive().resolve(loaded);
  }

  /** Nothing that only listens may keep requests waiting, or change what has happened. */
  #note(step: () => void): void {
    try {
      step();
    } catch (err) {
      this.#options.log.error(`a model's change was not noted: ${reasonText(err)}`, { ...this.#place, err });
    }
  }

  /** Ends the waiting of all that wait now; later ones wait for another load. */
  #arrive(): Deferred<Servable> {
    const arrival = this.#arrival ?? createDeferred();
    this.#arrival = undefined;
    return arrival;
  }

  get #place() {
    return { model: this.name, version: String(this.version) };
  }
}
