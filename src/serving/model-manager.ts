import { invalidArgument, reasonText } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import type { AspiredModel } from "./aspired-model.ts";
import { Catalog } from "./catalog.ts";
import type { UnloadOptions } from "./inference-service.ts";
import { ManagedModel, type ModelPolicy } from "./managed-model.ts";
import { NeededModels } from "./needed-models.ts";
import { planModels } from "./plan/versions.ts";
import { RequestedLoads } from "./requested-loads.ts";
import type { Servable } from "./servable.ts";
import type { VersionStatus } from "./version-status.ts";

/** Settings of a manager, and what its models need. */
export interface ManagerOptions extends Omit<ModelPolicy, "isHeld" | "needed"> {
  /** A name that also means the model while there is only one. */
  readonly alias?: string | undefined;
  /** Name of a model that is loaded after all others, which then do not wait for it. */
  readonly loadedLast?: string | undefined;
  /** Finds out which versions should be served under a name, before the name is loaded on request. */
  readonly refresh?: (name: string) => Promise<void>;
}

/** A version that could not be loaded. */
export interface LoadFailure {
  readonly model: string;
  readonly version: bigint;
  /** The reason why its load was rejected. */
  readonly reason: unknown;
}

/** Called after each change of a version's status. */
export type StateListener = (status: VersionStatus) => void;

/**
 * Loads and unloads models until the served ones are those that were asked for. It alone knows the states of all
 * versions. Models wait for each other only for a place to load, and for the models that their stages name.
 */
export class ModelManager {
  /** The models, for requests. */
  readonly catalog: Catalog<ManagedModel>;
  readonly #policy: ModelPolicy;
  readonly #needed: NeededModels;
  readonly #log: Logger;
  readonly #listeners = new Set<StateListener>();
  readonly #changeListeners = new Set<() => void>();
  #waiting: Waiting[] = [];
  readonly #requested: RequestedLoads;
  readonly #last: string | undefined;
  #hasStarted = false;
  #isClosed = false;

  constructor({ alias, loadedLast: last, refresh = async () => {}, ...policy }: ManagerOptions) {
    this.catalog = new Catalog(alias, last);
    this.#needed = new NeededModels(this.catalog);
    this.#last = last;
    this.#requested = new RequestedLoads({
      catalog: this.catalog,
      needed: this.#needed,
      refresh,
      until: (isOver) => this.#until(isOver),
    });
    const isHeld = (name: string) => this.#requested.isHeld(name);
    this.#policy = { ...policy, needed: this.#needed, isHeld };
    this.#log = policy.log;
  }

  /**
   * Sets the models to serve, in place of those set before, and returns at once. A version with another fingerprint is
   * loaded again while it serves. A model that a client has unloaded stays unloaded, until a client loads it or its
   * name has been absent. Throws `invalid_argument`, and changes nothing, for a name or version given twice.
   */
  aspire(models: readonly AspiredModel[]): void {
    if (this.#isClosed) return;
    assertDistinct(models);
    const given = new Map(models.map((model) => [model.name, model]));
    const known = this.catalog.models().map(({ name }) => name);
    for (const { name } of planModels({ wanted: [...given.keys()], known, last: this.#last })) {
      const model = given.get(name);
      if (model === undefined) this.catalog.get(name)?.aspire({ versions: [] });
      else this.#manage(model).aspire(model);
    }
    this.#check();
  }

  /** Loads a model for a client: see {@link RequestedLoads.load}. */
  load(name: string, change?: () => Promise<void>): Promise<void> {
    return this.#requested.load(name, change);
  }

  /** Unloads a model for a client: see {@link RequestedLoads.unload}. */
  unload(name: string, options?: UnloadOptions): Promise<void> {
    return this.#requested.unload(name, options);
  }

  /**
   * Replaces the hooks of every version by their file as it is now. If new ones fail, their version's status gives
   * the reason, and the first reason is thrown. Those that were read after `since`, on the clock of performance.now(),
   * stay; default: now.
   */
  async reloadHooks(since?: number): Promise<void> {
    const versions = this.catalog.models().flatMap((model) => model.versions);
    const reloads = await Promise.allSettled(versions.map((version) => version.reloadHooks(since)));
    for (const reload of reloads) if (reload.status === "rejected") throw reload.reason;
  }

  /** Every version of every model. */
  statuses(): readonly VersionStatus[] {
    return this.catalog.models().flatMap((model) => model.versions.map((version) => model.statusOf(version)));
  }

  /** Every loaded version; those of one model highest first. */
  servables(): readonly Servable[] {
    const versions = this.catalog.models().flatMap((model) => model.versions);
    return versions.flatMap(({ servable }) => (servable === undefined ? [] : [servable]));
  }

  /** Calls back after each change of a version's status; returns a function that removes the listener. */
  onState(listener: StateListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Calls back after each change of a version's status, and of the models' descriptions;
   * returns a function that removes the listener.
   */
  onChange(listener: () => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  /**
   * True when requests can be answered: the first models have each become available or failed, and every available
   * version can answer. With `strictReadiness` no model that should be served may be missing; without it, one must be
   * available or none have failed.
   */
  isReady(): boolean {
    this.#hasStarted ||= this.#isStarted();
    if (!this.#hasStarted) return false;
    let [isAnyLoaded, isAnyMissing] = [false, false];
    for (const { versions } of this.catalog.models()) {
      for (const { servable, isWanted, missing } of versions) {
        if (servable?.isReady() === false) return false;
        const canAnswer = servable !== undefined && missing === undefined;
        isAnyLoaded ||= canAnswer;
        isAnyMissing ||= !canAnswer && isWanted;
      }
    }
    return (isAnyLoaded && !this.#policy.loading.strictReadiness) || !isAnyMissing;
  }

  /** Resolves once every version that should be served is available or has failed, with the failures of those. */
  async settled(): Promise<readonly LoadFailure[]> {
    await this.#until(() => this.#isSettled());
    return this.#failures();
  }

  /** As {@link settled}, but the model that is loaded last is only waited for if there are no others. */
  async started(): Promise<readonly LoadFailure[]> {
    await this.#until(() => this.#isStarted());
    return this.#failures();
  }

  #failures(): readonly LoadFailure[] {
    const versions = this.catalog.models().flatMap((model) => model.versions);
    const failed = versions.filter(({ isWanted, failure }) => isWanted && failure !== undefined);
    return failed.map(({ model, version, failure: reason }) => ({ model, version, reason }));
  }

  /** Unloads every model, after its running requests; resolves once all are freed. */
  async close(): Promise<void> {
    this.aspire([]);
    this.#isClosed = true;
    await this.settled();
  }

  async #until(isOver: () => boolean): Promise<void> {
    if (!isOver()) await new Promise<void>((resolve) => this.#waiting.push({ isOver, resolve }));
  }

  #manage(aspired: AspiredModel): ManagedModel {
    const known = this.catalog.get(aspired.name);
    if (known !== undefined) return known;
    const model = new ManagedModel(aspired, this.#policy, (status, isNews) => {
      if (isNews) this.#notify(status);
      this.#check();
    });
    this.catalog.add(model);
    return model;
  }

  #notify(status: VersionStatus): void {
    for (const listener of this.#listeners) {
      try {
        listener(status);
      } catch (err) {
        this.#log.error(`a listener of model states failed: ${reasonText(err)}`, { err });
      }
    }
  }

  #check(): void {
    for (const model of this.catalog.models()) if (model.isOver) this.catalog.delete(model.name);
    this.#policy.executor.turns.changed();
    for (const model of this.catalog.models()) model.checkNeeds();
    this.#policy.executor.memory.changed();
    for (const listener of this.#changeListeners) listener();
    this.#waiting = this.#waiting.filter(({ isOver, resolve }) => {
      const goesOn = !isOver();
      if (!goesOn) resolve();
      return goesOn;
    });
  }

  #isSettled(): boolean {
    return this.catalog.models().every(({ isSettled }) => isSettled);
  }

  #isStarted(): boolean {
    const models = this.catalog.models();
    const first = models.filter(({ name }) => name !== this.#last);
    return (first.length === 0 ? models : first).every(({ isSettled }) => isSettled);
  }
}

interface Waiting {
  readonly isOver: () => boolean;
  readonly resolve: () => void;
}

function assertDistinct(models: readonly AspiredModel[]): void {
  const names = new Set<string>();
  for (const { name, versions } of models) {
    if (names.has(name)) throw invalidArgument(`The model ${name} is given twice; expected each name once.`);
    names.add(name);
    const numbers = new Set(versions.map(({ version }) => version));
    if (numbers.size < versions.length) {
      throw invalidArgument(`A version of the model ${name} is given twice; expected each number once.`);
    }
  }
}
