import { ServingError } from "../../../src/errors.ts";
import type { ModelFacts } from "../../../src/models/model-facts.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { PoisonWatch } from "../../../src/pipeline/poison/poison-watch.ts";
import { MemoryBudget } from "../../../src/platform/limits/memory/memory-budget.ts";
import { sliceSettings } from "../../../src/platform/limits/settings/server-settings.ts";
import { Admission } from "../../../src/serving/admission.ts";
import type { AspiredModel, AspiredVersion } from "../../../src/serving/aspired-model.ts";
import { Executor } from "../../../src/serving/executor.ts";
import type { Lease } from "../../../src/serving/inference-service.ts";
import { Leases } from "../../../src/serving/leases.ts";
import { type LoadFailure, ModelManager, type StateListener } from "../../../src/serving/model-manager.ts";
import type { ModelMemory } from "../../../src/serving/model-memory.ts";
import type { Servable } from "../../../src/serving/servable.ts";
import type { VersionStatus } from "../../../src/serving/version-status.ts";
import { isThere, type Limits, type WishedModel, type WishedVersion } from "./history.ts";
import { type Asked, SimulatedServable, type Surroundings } from "./simulated-servable.ts";
import { printOf, type Wish, type World } from "./world.ts";

/** The code that is simulated, as the history sees it: whatever keeps models served has these entries. */
export interface Door {
  /** Sets the models to serve. */
  wish(models: readonly WishedModel[]): void;
  load(model: string): Promise<void>;
  unload(model: string, dependents: boolean): Promise<void>;
  reloadHooks(): Promise<void>;
  statuses(): readonly VersionStatus[];
  onState(listener: StateListener): void;
  /** True if a request for it would get a version. */
  resolves(model: string): boolean;
  /** True if a client has unloaded it, so that it need not be served. */
  isUnloaded(model: string): boolean;
  /** True if a version answers without being loaded before. */
  isResident(model: string, version: bigint): boolean;
  /** True if a version could give its memory to others. */
  isIdle(model: string, version: bigint): boolean;
  /** Name of the input of a model that resolves. */
  inputOf(model: string): string | undefined;
  /** A version for one request; throws as the server does. */
  acquire(asked: Pick<Asked, "model" | "version" | "label" | "id">): Lease;
  /** Runs the request of a lease. */
  infer(lease: Lease, asked: Asked): Promise<void>;
  /** Keeps the version that answers as another thread does, if there is one, until the returned function is called. */
  keep(model: string): (() => void) | undefined;
  statistics(): Promise<unknown>;
  isReady(): boolean;
  settled(): Promise<readonly LoadFailure[]>;
  close(): Promise<void>;
}

/** Opens the model manager of the server to a simulation. */
export function openManager(world: World, limits: Limits): Door {
  const { modelMemory: modelMemoryBytes, ...given } = limits;
  const log = createSilentLogger();
  const { loading } = sliceSettings({ ...given, modelMemoryBytes, memoryCheck: false });
  const executor = new Executor({ loading, log, used: () => 0 });
  const manager = new ModelManager({ loading, executor, log });
  const service = {
    admission: new Admission(1000),
    memory: new MemoryBudget(1e9, undefined, false),
    poison: new PoisonWatch({ maxRequests: 0, log }),
    requestTimeoutMs: 0,
    partTimes: { firstPartTimeoutMs: 0, partTimeoutMs: 0 },
  };
  return new ManagerDoor({
    world,
    memory: executor.memory,
    manager,
    leases: new Leases(manager.catalog, service, { log }),
  });
}

interface ManagerParts {
  readonly world: World;
  readonly memory: ModelMemory;
  readonly manager: ModelManager;
  readonly leases: Leases;
}

class ManagerDoor implements Door {
  readonly #on: ManagerParts;
  readonly #leasedAt = new Map<string, number>();
  /** The files as they are now. */
  #wished: readonly WishedModel[] = [];

  constructor(parts: ManagerParts) {
    this.#on = parts;
  }

  wish(models: readonly WishedModel[]): void {
    this.#wished = models;
    this.#on.manager.aspire(models.map((model) => this.#toAspired(model)));
  }

  load(model: string): Promise<void> {
    return this.#on.manager.load(model);
  }

  unload(model: string, dependents: boolean): Promise<void> {
    return this.#on.manager.unload(model, { dependents });
  }

  reloadHooks(): Promise<void> {
    return this.#on.manager.reloadHooks();
  }

  statuses(): readonly VersionStatus[] {
    return this.#on.manager.statuses();
  }

  onState(listener: StateListener): void {
    this.#on.manager.onState(listener);
  }

  resolves(model: string): boolean {
    return this.#on.manager.catalog.get(model)?.current?.servable !== undefined;
  }

  isUnloaded(model: string): boolean {
    return this.#on.manager.catalog.get(model)?.isUnloaded === true;
  }

  isResident(model: string, version: bigint): boolean {
    return this.#on.manager.catalog.get(model)?.find(version)?.servable?.isLoaded === true;
  }

  isIdle(model: string, version: bigint): boolean {
    return this.#on.manager.catalog.get(model)?.find(version)?.servable?.isIdle === true;
  }

  inputOf(model: string): string | undefined {
    const { signatures } = this.#on.manager.catalog.get(model)?.current?.servable?.description ?? {};
    return signatures?.serving_default?.inputs?.[0]?.name;
  }

  acquire({ id, ...ref }: Pick<Asked, "model" | "version" | "label" | "id">): Lease {
    const lease = this.#on.leases.acquire(ref, { metadata: {} });
    this.#leasedAt.set(id, this.#on.world.time.now);
    return lease;
  }

  async infer(lease: Lease, { id, signal, limits }: Asked): Promise<void> {
    const signature = { name: "serving_default", spec: lease.description.signatures.serving_default };
    const call = { id, metadata: {}, signal, limits };
    await lease.infer({ signature, inputs: { kind: "tensors", tensors: {} }, call });
  }

  keep(model: string): (() => void) | undefined {
    if (!this.resolves(model)) return undefined;
    const kept = this.#on.leases.keep({ model });
    return kept && (() => kept.release());
  }

  statistics(): Promise<unknown> {
    return Promise.all(this.#on.manager.servables().map((servable) => servable.statistics()));
  }

  isReady(): boolean {
    return this.#on.manager.isReady();
  }

  settled(): Promise<readonly LoadFailure[]> {
    return this.#on.manager.settled();
  }

  close(): Promise<void> {
    return this.#on.manager.close();
  }

  #toAspired({ name, versions, labels = {}, idleMs, present }: WishedModel): AspiredModel {
    return {
      name,
      labels: Object.fromEntries(Object.entries(labels).map(([label, version]) => [label, BigInt(version)])),
      ...(idleMs !== undefined && { idleUnloadMs: idleMs }),
      ...(present && { present: present.map(BigInt) }),
      versions: versions.map((version) => this.#toVersion({ ...version, model: name })),
    };
  }

  #toVersion(wish: Wish): AspiredVersion {
    const { model, version, print, hooks, needs = [], isRefused = false, isFetched = false } = wish;
    const refusal = new ServingError("failed_precondition", "it cannot be loaded");
    const { world } = this.#on;
    return {
      ...{ version: BigInt(version), fingerprint: printOf(wish), needs },
      ...(hooks !== undefined && { modelFingerprint: print }),
      ...(isRefused && { refusal }),
      ...(isFetched && { prepare: (signal) => world.work("prepare", `${model}/${version} ${print}`, signal) }),
      load: (signal) => (isRefused ? Promise.reject(refusal) : this.#load(wish, signal)),
    };
  }

  /** The steps of a load in the order in which the server makes them. */
  async #load(wish: Wish, signal: AbortSignal): Promise<Servable> {
    const { world, memory } = this.#on;
    const copy = world.open(wish, signal);
    let release = () => {};
    try {
      await copy.step("open", signal);
      if (!isThere(this.#wished, wish)) throw new ServingError("not_found", `the files of ${copy.title} are gone`);
      const share = await memory.reserve({ what: copy.slot, bytes: wish.bytes ?? 1, signal }).catch((reason) => {
        if (ServingError.from(reason).code === "resource_exhausted") world.onRefused(copy);
        throw reason;
      });
      release = share.release;
      await copy.step("load", signal);
      signal.throwIfAborted();
      for (const need of wish.needs ?? []) copy.inputs.set(need, this.inputOf(need) ?? "");
      const servable = new SimulatedServable(copy, this.#describeNeeds(wish), this.#surround(wish, release));
      await servable.warm(signal);
      await share.loaded(wish.bytes ?? 1);
      copy.state = "loaded";
      copy.loadedAt = world.time.now;
      return servable;
    } catch (reason) {
      // As the server's own cleanup, which says nothing of what fails in it.
      await copy.close().catch(() => {});
      release();
      throw reason;
    }
  }

  #describeNeeds({ needs = [] }: WishedVersion): ModelFacts[] {
    return needs.map((model) => {
      const lease = this.#on.leases.acquire({ model });
      const { signatures } = lease.description;
      lease.release();
      const defaultSignature = "serving_default";
      return { driver: "simulated", path: model, signatures, defaultSignature, echoes: false, loadMs: 0 };
    });
  }

  #surround({ model, version }: Wish, release: () => void): Surroundings {
    return {
      world: this.#on.world,
      ask: (asked) => this.#askOther(asked),
      leasedAt: (id) => this.#leasedAt.get(id) ?? 0,
      release,
      hooksNow: () => {
        const wished = this.#wished.find(({ name }) => name === model)?.versions ?? [];
        return wished.find((one) => one.version === version)?.hooks;
      },
    };
  }

  async #askOther(asked: Asked): Promise<void> {
    const lease = this.acquire(asked);
    try {
      await this.infer(lease, asked);
    } finally {
      lease.release();
    }
  }
}
