import { TurnsByName } from "../async/turns-by-name.ts";
import { failedPrecondition, invalidArgument, reasonText, type ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import type { AspiredModel } from "./aspired-model.ts";
import { Catalog } from "./catalog.ts";
import type { UnloadOptions } from "./inference-service.ts";
import { LoadGate } from "./load-gate.ts";
import { ManagedModel, type ModelPolicy } from "./managed-model.ts";
import { NeededModels } from "./needed-models.ts";
import type { Servable } from "./servable.ts";
import type { VersionStatus } from "./version-status.ts";

/** Maximum number of loads at once. */
export interface ManagerOptions extends Omit<ModelPolicy, "gate" | "isHeld" | "needed"> {
  /** Loads at once, at most. */
  readonly threads: number;
  /** Ready only when every model that should be served is available. */
  readonly strictReadiness: boolean;
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
  readonly catalog = new Catalog();
  readonly #policy: ModelPolicy;
  readonly #needed = new NeededModels(this.catalog);
  readonly #log: Logger;
  readonly #listeners = new Set<StateListener>();
  #waiting: (() => void)[] = [];
  readonly #strictReadiness: boolean;
  readonly #refresh: (name: string) => Promise<void>;
  /** Names of models whose folder is read before they are loaded on request, so that they are not loaded twice. */
  readonly #held: string[] = [];
  readonly #turns = new TurnsByName();
  #hasSettled = false;
  #isClosed = false;

  constructor({ threads, strictReadiness, refresh = async () => {}, ...policy }: ManagerOptions) {
    this.#refresh = refresh;
    this.#strictReadiness = strictReadiness;
    const isHeld = (name: string) => this.#held.includes(name);
    this.#policy = { ...policy, gate: new LoadGate(threads), needed: this.#needed, isHeld };
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
    const names = new Set(models.map(({ name }) => name));
    for (const model of this.catalog.models()) if (!names.has(model.name)) model.aspire({ versions: [] });
    for (const model of models) this.#manage(model).aspire(model);
    this.#check();
  }

  /**
   * Loads a model's files as they are now, and the models that it needs and that clients have unloaded. Resolves once
   * all their versions have loaded or failed. Throws `not_found` for an unknown name, and the reason of a failed load.
   * `change` is called before the load begins, to change which models to serve.
   */
  async load(name: string, change?: () => Promise<void>): Promise<void> {
    const { loaded } = await this.#beginLoad(name, false, change);
    await loaded;
    await this.#needed.settled(this.catalog.get(name)?.needs ?? []);
  }

  /**
   * Frees a model once its requests are over, until it is loaded again. Throws `not_found` for an unknown name,
   * `failed_precondition` where other models need it and are not to be unloaded with it.
   */
  async unload(name: string, { dependents = false }: UnloadOptions = {}): Promise<void> {
    this.catalog.require(name);
    if (dependents) return this.#unloadWithOthers(name);
    const needing = this.#needed.dependentsOf(name);
    if (needing.length > 0) throw isNeeded(name, needing);
    await this.#unload(name);
  }

  /**
   * Replaces the hooks of every version by their file as it is now. Where new ones fail, their version's status gives
   * the reason, and the first reason is thrown.
   */
  async reloadHooks(): Promise<void> {
    const versions = this.catalog.models().flatMap((model) => model.versions);
    const reloads = await Promise.allSettled(versions.map((version) => version.reloadHooks()));
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
   * True when requests can be answered: the first models have each become available or failed, and every available
   * version can answer. With `strictReadiness` no model that should be served may be missing; without it, one must be
   * available or none have failed.
   */
  isReady(): boolean {
    this.#hasSettled ||= this.#isSettled();
    if (!this.#hasSettled) return false;
    let [isAnyLoaded, isAnyMissing] = [false, false];
    for (const { versions } of this.catalog.models()) {
      for (const { servable, isWanted, missing } of versions) {
        if (servable?.isReady() === false) return false;
        const canAnswer = servable !== undefined && missing === undefined;
        isAnyLoaded ||= canAnswer;
        isAnyMissing ||= !canAnswer && isWanted;
      }
    }
    return (isAnyLoaded && !this.#strictReadiness) || !isAnyMissing;
  }

  /** Resolves once every version that should be served is available or has failed, with the failures. */
  async settled(): Promise<readonly LoadFailure[]> {
    if (!this.#isSettled()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const versions = this.catalog.models().flatMap((model) => model.versions);
    const failed = versions.filter(({ failure }) => failure !== undefined);
    return failed.map(({ model, version, failure: reason }) => ({ model, version, reason }));
  }

  /** Unloads every model, after its running requests; resolves once all are freed. */
  async close(): Promise<void> {
    this.aspire([]);
    this.#isClosed = true;
    await this.settled();
  }

  /** Starts the load of a model, after the models that it needs and that clients have unloaded. */
  #beginLoad(
    name: string,
    isAlong: boolean,
    change?: () => Promise<void>,
  ): Promise<{ readonly loaded: Promise<void> }> {
    return this.#turns.run(name, async () => {
      await this.#look(name, change);
      const model = this.catalog.require(name);
      model.isAlong = isAlong;
      for (const need of model.wantedNeeds) {
        // A model that needs it is notified where its load fails.
        if (this.catalog.get(need)?.isUnloaded) void (await this.#beginLoad(need, true)).loaded.catch(() => {});
      }
      return { loaded: model.load() };
    });
  }

  async #unload(name: string): Promise<void> {
    const { unloaded } = await this.#turns.run(name, async () => ({ unloaded: this.catalog.require(name).unload() }));
    await unloaded;
  }

  /** Models that need it are unloaded before it, since their requests use it; models that were loaded only for it, after it. */
  async #unloadWithOthers(name: string): Promise<void> {
    const model = this.catalog.require(name);
    const { needs } = model;
    for (const other of this.#needed.dependentsOf(name)) await this.#unloadWithOthers(other.name);
    await this.#unload(name);
    for (const need of needs) {
      const isLeft = this.catalog.get(need)?.isAlong && this.#needed.dependentsOf(need).length === 0;
      if (isLeft) await this.#unloadWithOthers(need);
    }
  }

  #manage(aspired: AspiredModel): ManagedModel {
    const known = this.catalog.get(aspired.name);
    if (known !== undefined) return known;
    const model = new ManagedModel(aspired, this.#policy, (status) => this.#tell(status));
    this.catalog.add(model);
    return model;
  }

  #tell(status: VersionStatus): void {
    for (const listener of this.#listeners) {
      try {
        listener(status);
      } catch (err) {
        this.#log.error(`a listener of model states failed: ${reasonText(err)}`, { err });
      }
    }
    this.#check();
  }

  async #look(name: string, change?: () => Promise<void>): Promise<void> {
    this.#held.push(name);
    try {
      await this.#refresh(name);
      await change?.();
    } finally {
      this.#held.splice(this.#held.indexOf(name), 1);
    }
  }

  #check(): void {
    for (const model of this.catalog.models()) if (model.isOver) this.catalog.delete(model.name);
    this.#needed.changed();
    for (const model of this.catalog.models()) model.lookAtNeeds();
    if (this.#waiting.length === 0 || !this.#isSettled()) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #isSettled(): boolean {
    return this.catalog.models().every(({ isSettled }) => isSettled);
  }
}

function isNeeded(name: string, needing: readonly { readonly name: string }[]): ServingError {
  const names = needing.map((model) => model.name).join(", ");
  const hint = "unload what needs it first, or together with it (unload_dependents)";
  return failedPrecondition(`The model ${name} is needed by ${names}; ${hint}.`);
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
