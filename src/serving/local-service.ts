import { ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import { type PoisonCount, PoisonWatch } from "../pipeline/poison/poison-watch.ts";
import { MemoryBudget } from "../platform/limits/memory/memory-budget.ts";
import type { LimitSettings } from "../platform/limits/settings/server-settings.ts";
import type { ThreadCounts } from "../platform/limits/thread-counts.ts";
import { Admission } from "./admission.ts";
import type { AspiredModel } from "./aspired-model.ts";
import { type FunctionsByModel, type HookRoutes, toHookRoutes, toTextFunctions } from "./hook-routes.ts";
import type {
  DescribedModel,
  IndexScope,
  InferenceService,
  Lease,
  LoadOverrides,
  ModelRef,
  NamedStatistics,
  RequestCount,
  ServableState,
  UnloadOptions,
} from "./inference-service.ts";
import { type KeptVersion, Leases } from "./leases.ts";
import { LoadCounter, type LoadCounts } from "./load-counter.ts";
import type { ServiceLimits } from "./local-lease.ts";
import type { LoadFailure, ModelManager } from "./model-manager.ts";
import { notAvailableText } from "./not-available-text.ts";
import { publicError } from "./public-error.ts";
import type { RecordedCount } from "./recorded-count.ts";
import type { RequestRecorder } from "./request-recorder.ts";
import { servableStates } from "./servable-states.ts";
import type { RoutedRequest } from "./traffic.ts";

/** Limits of requests, and the ways in which clients change the served models. */
interface LocalServiceOptions {
  readonly limits: LimitSettings;
  /** Changes the served models; absent = they cannot be changed. */
  readonly reconfigure?: (models: readonly DescribedModel[]) => Promise<void>;
  /** Checks the models' descriptions for changes; absent = there are none to check. */
  readonly rescan?: () => Promise<void>;
  /** Loads a model, with the client's overrides if there are any; absent = its description cannot change. */
  readonly load?: (model: string, overrides: LoadOverrides | undefined) => Promise<void>;
  /** Unloads a model, and forgets a client's overrides of it. */
  readonly unload?: (model: string, options: UnloadOptions | undefined) => Promise<void>;
  /** The models that clients may load; absent = only those that are served. */
  readonly loadable?: () => readonly AspiredModel[];
  /** Records requests in files; absent = no recording. */
  readonly recorder?: RequestRecorder;
  /** Kilobytes that requests hold in other threads which take them; absent = none does. */
  readonly heldElsewhere?: ThreadCounts | undefined;
  readonly log: Logger;
}

/** The service over this process's own models. */
export class LocalService implements InferenceService, ServiceLimits {
  /** Counts the requests, and decides about admitting more. */
  readonly admission: Admission;
  /** Bytes that the requests of all transports hold. */
  readonly memory: MemoryBudget;
  readonly poison: PoisonWatch;
  readonly requestTimeoutMs: number;
  readonly partTimes: ServiceLimits["partTimes"];
  readonly #manager: ModelManager;
  readonly #options: LocalServiceOptions;
  readonly #readiness: Readiness;
  readonly #loads = new LoadCounter();
  readonly #leases: Leases;
  #isRetired = false;
  #hookRoutes: HookRoutes | undefined;

  constructor(manager: ModelManager, options: LocalServiceOptions) {
    const { limits, heldElsewhere, log } = options;
    this.#manager = manager;
    this.#options = options;
    this.requestTimeoutMs = limits.requestTimeoutMs;
    this.partTimes = { firstPartTimeoutMs: limits.firstPartTimeoutMs, partTimeoutMs: limits.partTimeoutMs };
    this.admission = new Admission(limits.maxQueue);
    this.memory = new MemoryBudget(limits.maxQueueBytes, heldElsewhere);
    this.poison = new PoisonWatch({ maxRequests: limits.poisonRequests, log });
    this.#leases = new Leases(manager.catalog, this, options);
    this.#readiness = new Readiness(() => this.isReady());
    this.admission.onClose(() => this.#readiness.check());
    manager.onState((status) => {
      this.#hookRoutes = undefined;
      this.#loads.note(status);
      this.#readiness.check();
    });
  }

  acquire(ref: ModelRef, request?: RoutedRequest): Lease {
    return this.#leases.acquire(ref, request);
  }

  /** As {@link Leases.keep}. */
  keep(ref: ModelRef): KeptVersion | undefined {
    return this.#leases.keep(ref);
  }

  /** Calls back after each change of what a reference may mean; returns a function that removes the listener. */
  onChange(listener: () => void): () => void {
    return this.#manager.onChange(listener);
  }

  nameOf(model: string): string {
    return model === "" ? model : this.#manager.catalog.nameOf(model);
  }

  index({ loadable = false }: IndexScope = {}): readonly ServableState[] {
    const models = this.#manager.catalog.models();
    const others = loadable ? (this.#options.loadable?.() ?? []) : [];
    return servableStates(models, { loadable: others, isLeaving: this.#isLeaving });
  }

  async statistics(): Promise<readonly NamedStatistics[]> {
    const versions = this.#manager.catalog.models().flatMap((model) => model.versions);
    const named = versions.flatMap(({ model, version, servable }) => {
      if (servable === undefined) return [];
      return [servable.statistics().then((statistics) => ({ model, version, ...statistics }))];
    });
    return Promise.all(named);
  }

  inFlight(): RequestCount {
    return this.admission;
  }

  loads(): readonly LoadCounts[] {
    return this.#loads.counts(this.#manager.statuses());
  }

  recorded(): readonly RecordedCount[] {
    return this.#options.recorder?.counts() ?? [];
  }

  poisonCounts(): readonly PoisonCount[] {
    return this.poison.counts();
  }

  /** Drops names that are not served any more from {@link loads} and {@link recorded}. */
  forgetGone(): void {
    const known = this.#manager.statuses();
    this.#loads.counts(known);
    const names = new Set(known.map(({ model }) => model));
    this.#options.recorder?.forget(names);
    this.poison.forget(names);
  }

  async load(model: string, overrides?: LoadOverrides): Promise<void> {
    const { load = (name) => this.#manager.load(name), log } = this.#options;
    await load(this.nameOf(model), overrides).catch((reason) => {
      throw publicError(ServingError.from(reason));
    });
    const given = overrides && { files: [...overrides.files.keys()], config: overrides.config.length };
    log.info("a client loaded the model", { model, ...(given && { given }) });
  }

  async unload(model: string, options?: UnloadOptions): Promise<void> {
    const { unload = (name, scope) => this.#manager.unload(name, scope), log } = this.#options;
    await unload(this.nameOf(model), options);
    log.info("a client unloaded the model", { model });
  }

  async reconfigure(models: readonly DescribedModel[]): Promise<void> {
    const { reconfigure, log } = this.#options;
    if (reconfigure === undefined) throw new ServingError("unimplemented", "This server's models are fixed.");
    await reconfigure(models);
    log.info("a client changed the configuration", { models: models.map(({ name }) => name) });
    const failures = await this.#manager.settled();
    if (failures.length > 0) throw notAvailable(failures);
    for (const { name, labels } of models) this.#manager.catalog.get(name)?.assertLabels(labels);
  }

  async rescan(): Promise<void> {
    const { rescan, log } = this.#options;
    await rescan?.();
    log.info("models scanned again for a client");
    await this.#manager.settled();
  }

  hookRoutes(): HookRoutes {
    this.#hookRoutes ??= toHookRoutes(this.#manager.catalog.models());
    return this.#hookRoutes;
  }

  onHookRoutes(listener: (routes: HookRoutes, functions: FunctionsByModel) => void): void {
    const tell = () => listener(this.hookRoutes(), toTextFunctions(this.#manager.catalog.models()));
    tell();
    this.#manager.onState(tell);
  }

  mayAnswerInParts(): boolean {
    const versions = this.#manager.catalog.models().flatMap((model) => model.versions);
    return versions.some(({ servable }) => {
      const { decoupled, hooks } = servable?.description ?? {};
      return decoupled === true || hooks?.entries !== undefined;
    });
  }

  isReady(): boolean {
    return !this.#isLeaving && this.#manager.isReady();
  }

  onReadiness(listener: (ready: boolean) => void): () => void {
    return this.#readiness.listen(listener);
  }

  /** Becomes not ready, so that clients go elsewhere; requests are still admitted. */
  retire(): void {
    this.#isRetired = true;
    this.#readiness.check();
  }

  get #isLeaving(): boolean {
    return this.#isRetired || !this.admission.isOpen;
  }
}

function notAvailable(failures: readonly LoadFailure[]): ServingError {
  const failed = failures.map(({ model, version, reason }) => {
    return { model, version, error: publicError(ServingError.from(reason)) };
  });
  return new ServingError("unknown", notAvailableText("model", failed));
}

/**
 * Time between two checks of readiness while there are listeners, in milliseconds: threads end and are replaced without
 * a message.
 */
const CHECK_MS = 250;

/** Notifies listeners when readiness changes. */
class Readiness {
  readonly #isReady: () => boolean;
  readonly #listeners = new Set<(ready: boolean) => void>();
  #known: boolean;
  #timer: NodeJS.Timeout | undefined;

  constructor(isReady: () => boolean) {
    this.#isReady = isReady;
    this.#known = isReady();
  }

  /** Calls back immediately and at each change; returns a function that removes the listener. */
  listen(listener: (ready: boolean) => void): () => void {
    this.check();
    this.#listeners.add(listener);
    listener(this.#known);
    this.#timer ??= setInterval(() => this.check(), CHECK_MS).unref();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** Checks now, after a known change. */
  check(): void {
    const ready = this.#isReady();
    if (ready === this.#known) return;
    this.#known = ready;
    for (const listener of this.#listeners) listener(ready);
  }
}
