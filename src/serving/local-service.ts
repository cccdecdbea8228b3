import { ServingError } from "../errors.ts";
import { MemoryBudget } from "../limits/memory-budget.ts";
import type { Logger } from "../observability/logger.ts";
import { Admission } from "./admission.ts";
import type { AspiredModel } from "./aspired-model.ts";
import type { DescribedModel } from "./described-model.ts";
import { type HookRoutes, toHookRoutes } from "./hook-routes.ts";
import type {
  IndexScope,
  InferenceService,
  Lease,
  ModelRef,
  NamedStatistics,
  RequestCount,
  ServableState,
  UnloadOptions,
} from "./inference-service.ts";
import { Leases } from "./leases.ts";
import { LoadCounter, type LoadCounts } from "./load-counter.ts";
import type { LoadOverrides } from "./load-overrides.ts";
import type { ServiceLimits } from "./local-lease.ts";
import type { LoadFailure, ModelManager } from "./model-manager.ts";
import { notAvailableText } from "./not-available-text.ts";
import { publicError } from "./public-error.ts";
import { Readiness } from "./readiness.ts";
import type { RecordedCount } from "./recorded-count.ts";
import type { RequestRecorder } from "./request-recorder.ts";
import { servableStates } from "./servable-states.ts";
import type { RoutedRequest } from "./traffic.ts";

/** Limits of requests. */
export interface LocalServiceOptions {
  /** Maximum number of requests, waiting or running. */
  readonly maxCount: number;
  /** Maximum number of bytes that they hold together. */
  readonly maxBytes: number;
  /** Time after which a request fails whose client sets no earlier deadline, in milliseconds; 0 = never. */
  readonly requestTimeoutMs: number;
  /** Changes the served models; absent = they cannot be changed. */
  readonly reconfigure?: (models: readonly DescribedModel[]) => Promise<void>;
  /** Checks the models' descriptions for changes; absent = there are none to check. */
  readonly rescan?: () => Promise<void>;
  /** Loads a model, with the client's overrides where there are any; absent = its description cannot change. */
  readonly load?: (model: string, overrides: LoadOverrides | undefined) => Promise<void>;
  /** Unloads a model, and forgets a client's overrides of it. */
  readonly unload?: (model: string, options: UnloadOptions | undefined) => Promise<void>;
  /** The models that clients may load; absent = only those that are served. */
  readonly loadable?: () => readonly AspiredModel[];
  /** Records requests in files; absent = no recording. */
  readonly recorder?: RequestRecorder;
  readonly log: Logger;
}

/** The service over this process's own models. */
export class LocalService implements InferenceService, ServiceLimits {
  /** Counts the requests, and decides about admitting more. */
  readonly admission: Admission;
  /** Bytes that the requests of all transports hold. */
  readonly memory: MemoryBudget;
  readonly requestTimeoutMs: number;
  readonly #manager: ModelManager;
  readonly #log: Logger;
  readonly #reconfigure: LocalServiceOptions["reconfigure"];
  readonly #rescan: LocalServiceOptions["rescan"];
  readonly #load: NonNullable<LocalServiceOptions["load"]>;
  readonly #unload: NonNullable<LocalServiceOptions["unload"]>;
  readonly #loadable: NonNullable<LocalServiceOptions["loadable"]>;
  readonly #recorder: RequestRecorder | undefined;
  readonly #readiness: Readiness;
  readonly #loads = new LoadCounter();
  readonly #leases: Leases;
  #isRetired = false;
  #hookRoutes: HookRoutes | undefined;

  constructor(manager: ModelManager, options: LocalServiceOptions) {
    const { requestTimeoutMs, maxCount, maxBytes, reconfigure, rescan, log } = options;
    this.#log = log;
    this.#reconfigure = reconfigure;
    this.#rescan = rescan;
    this.#manager = manager;
    const { load = (name) => manager.load(name), unload = (name, scope) => manager.unload(name, scope) } = options;
    this.#recorder = options.recorder;
    this.#loadable = options.loadable ?? (() => []);
    this.#load = load;
    this.#unload = unload;
    this.requestTimeoutMs = requestTimeoutMs;
    this.admission = new Admission(maxCount);
    this.memory = new MemoryBudget(maxBytes);
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

  nameOf(model: string): string {
    return model === "" ? model : this.#manager.catalog.nameOf(model);
  }

  index({ loadable = false }: IndexScope = {}): readonly ServableState[] {
    const models = this.#manager.catalog.models();
    return servableStates(models, { loadable: loadable ? this.#loadable() : [], isLeaving: this.#isLeaving });
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
    return this.#recorder?.counts() ?? [];
  }

  async load(model: string, overrides?: LoadOverrides): Promise<void> {
    await this.#load(this.nameOf(model), overrides).catch((reason) => {
      throw publicError(ServingError.from(reason));
    });
    const given = overrides && { files: [...overrides.files.keys()], config: overrides.config.length };
    this.#log.info("a client loaded the model", { model, ...(given && { given }) });
  }

  async unload(model: string, options?: UnloadOptions): Promise<void> {
    await this.#unload(this.nameOf(model), options);
    this.#log.info("a client unloaded the model", { model });
  }

  async reconfigure(models: readonly DescribedModel[]): Promise<void> {
    if (this.#reconfigure === undefined) throw new ServingError("unimplemented", "This server's models are fixed.");
    await this.#reconfigure(models);
    this.#log.info("a client changed the configuration", { models: models.map(({ name }) => name) });
    const failures = await this.#manager.settled();
    if (failures.length > 0) throw notAvailable(failures);
    for (const { name, labels } of models) this.#manager.catalog.get(name)?.assertLabels(labels);
  }

  async rescan(): Promise<void> {
    await this.#rescan?.();
    this.#log.info("models scanned again for a client");
    await this.#manager.settled();
  }

  hookRoutes(): HookRoutes {
    this.#hookRoutes ??= toHookRoutes(this.#manager.catalog.models());
    return this.#hookRoutes;
  }

  onHookRoutes(listener: (routes: HookRoutes) => void): void {
    listener(this.hookRoutes());
    this.#manager.onState(() => listener(this.hookRoutes()));
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
