import { failedPrecondition, invalidArgument, reasonText, ServingError } from "../errors.ts";
import type { AspiredModel } from "../serving/aspired-model.ts";
import { problemsOfNeeds } from "../serving/check-needs.ts";
import type { DescribedModel, LoadOverrides, UnloadOptions } from "../serving/inference-service.ts";
import { type LoadFailure, type ManagerOptions, ModelManager } from "../serving/model-manager.ts";
import { publicError } from "../serving/public-error.ts";
import type { ModelConfig } from "../serving/repository/config/model-config.ts";
import { toNeedingModel } from "../serving/repository/config/model-config.ts";
import { basePathRefusal } from "../serving/repository/formats/tensorflow-serving.ts";
import type { LoadOptions } from "../serving/repository/load-servable.ts";
import { mergePlaces } from "../serving/repository/merge-sources.ts";
import { logState } from "../serving/servable-states.ts";
import { OverriddenModels, overrideConfig, overrideFiles } from "./client-models.ts";
import type { ModelSource } from "./model-source.ts";
import { type NamedModelOptions, toModelConfig } from "./named-model.ts";
import { NamedModels } from "./named-models.ts";

/** Settings of loading. */
interface ServedModelsOptions extends Omit<ManagerOptions, "refresh"> {
  /** Starts if no model has a version yet. */
  readonly mayBeEmpty?: boolean | undefined;
}

/** The models of a server: what its sources say should be served, under one manager. */
export class ServedModels {
  readonly manager: ModelManager;
  /** In the order in which their descriptions count: a program gives a model no name that another has at that time. */
  readonly #sources: readonly ModelSource[];
  readonly #named: NamedModels;
  readonly #options: ServedModelsOptions;
  readonly #aspired = new Map<ModelSource, readonly AspiredModel[]>();
  readonly #overrides = new OverriddenModels();
  #load: LoadOptions | undefined;
  /** Sentences about names that are described twice, as logged last. */
  #conflicts: readonly string[] = [];

  /** Serves what the source says, and the models of {@link load}. */
  constructor(source: ModelSource, options: ServedModelsOptions) {
    this.#options = options;
    this.#named = source instanceof NamedModels ? source : new NamedModels({});
    this.#sources = source === this.#named ? [source] : [this.#named, source];
    const refresh = async (name: string) => {
      // Another source that has a model of that name would serve it from then on.
      const asked = this.#named.has(name) ? [this.#named] : this.#sources;
      for (const one of asked) await one.refresh(name);
    };
    this.manager = new ModelManager({ ...options, refresh });
  }

  /**
   * Resolves once everything is loaded or has failed; rejects if nothing could be
   * loaded, or anything could not with `failFast`.
   */
  async start(load: LoadOptions, isAlone: boolean): Promise<void> {
    const { log, loading, mayBeEmpty = false } = this.#options;
    this.#load = load;
    // The failure of the only model is what the start rejects with.
    if (!isAlone) this.manager.onState(logState(log));
    const isUnloaded = (name: string) => this.manager.catalog.get(name)?.isUnloaded === true;
    for (const source of this.#sources) await source.start(load, (models) => this.#aspire(source, models), isUnloaded);
    const failures = await this.manager.started();
    const [first, ...others] = failures;
    const waits = mayBeEmpty && failures.every(({ reason }) => ServingError.from(reason).code === "not_found");
    const isFatal = !waits && (loading.failFast || this.manager.servables().length === 0);
    if (first !== undefined && isFatal) throw others.length === 0 ? first.reason : notLoaded(failures);
    if (isAlone) this.manager.onState(logState(log));
  }

  /** Has a thread ready for the next version of a small model, if versions are added while it runs. */
  prepare(): void {
    if (this.#sources.some(({ findsVersions }) => findsVersions)) void this.#load?.sharedThreads?.prepare();
  }

  /** Loads a model's files as they are now; with options as they say, be it new or there already. */
  async load(name: string, options?: NamedModelOptions): Promise<void> {
    if (options !== undefined) {
      if (!this.#named.has(name) && this.manager.catalog.get(name) !== undefined) throw isDescribedElsewhere(name);
      this.#checkNeeds(name, options);
      this.#named.set(name, options);
    }
    await this.loadFor(name, undefined);
  }

  /**
   * Loads a model for a client: as that describes it, or, without, as the sources do. One that does not load is
   * described again as it was before by the sources.
   */
  async loadFor(name: string, overrides: LoadOverrides | undefined): Promise<void> {
    if (overrides === undefined) return this.manager.load(name, async () => this.#restore(name));
    const given =
      overrides.files.size > 0 ? await overrideFiles(name, overrides, this.#load as LoadOptions) : undefined;
    let own = given;
    try {
      await this.manager.load(name, async () => {
        own ??= await overrideConfig(this.#describe(name), overrides.config, this.#load as LoadOptions);
        this.#overrides.set(name, own);
        this.#update();
      });
    } catch (reason) {
      if (own !== undefined && this.#overrides.get(name) === own) this.#drop(name);
      else own?.remove();
      throw reason;
    }
  }

  /** Unloads a model for a client, and forgets how one has described it. */
  async unload(name: string, options?: UnloadOptions): Promise<void> {
    await this.manager.unload(name, options);
    for (const each of this.#overrides.names()) if (this.manager.catalog.get(each)?.isUnloaded) this.#drop(each);
  }

  /** Unloads a model of {@link load}, and is as if it had never been given: another source's takes its place. */
  async forget(name: string): Promise<void> {
    const others = this.#sources.filter((source) => source !== this.#named);
    const isElsewhere = others.some((source) => this.#aspired.get(source)?.some((model) => model.name === name));
    // An unloaded one would stay unloaded.
    if (!isElsewhere) {
      await this.manager.unload(name).catch((reason) => {
        if (ServingError.from(reason).code !== "not_found") throw reason;
      });
    }
    this.#named.delete(name);
  }

  /** The models that a client may have loaded, loaded or not. */
  loadable(): readonly AspiredModel[] {
    return this.#sources.flatMap((source) => source.loadable());
  }

  /** Serves these models in place of all others, whatever described them. */
  async reconfigure(models: readonly DescribedModel[]): Promise<void> {
    const [refusal] = models.flatMap(({ name, path }) => basePathRefusal(name, path) ?? []);
    if (refusal !== undefined) throw invalidArgument(refusal);
    const chosen = this.#sources.findLast((source) => source.replace !== undefined) as ModelSource;
    for (const source of this.#sources.filter((one) => one !== chosen)) {
      if (source === this.#named) await this.#named.replace([]);
      else source.stop();
      this.#aspired.delete(source);
    }
    this.#overrides.clear();
    await chosen.replace?.(models);
  }

  /**
   * Scans the models' descriptions and files; throws `failed_precondition` if a
   * description cannot be read, and stays.
   */
  async rescan(): Promise<void> {
    for (const source of this.#sources) await source.rescan();
    const { failure } = this.#sources.find((source) => source.failure !== undefined) ?? {};
    if (failure !== undefined) throw notRead(failure);
  }

  /** Frees every model. */
  async close(): Promise<void> {
    for (const source of this.#sources) source.stop();
    await this.manager.close();
    await this.#load?.sharedThreads?.close();
    await this.#load?.keptThreads?.close();
    this.#overrides.clear();
  }

  /** The description of a model by its source; throws `not_found`. */
  #describe(name: string): ModelConfig {
    for (const source of this.#sources) {
      const config = source.describe(name);
      if (config !== undefined) return config;
    }
    this.manager.catalog.require(name);
    throw invalidArgument(`the model ${name} has no folder of its own, whose configuration could be replaced`);
  }

  /** A model that the sources describe is served as they do. */
  #restore(name: string): void {
    if (this.#ofSources().some((model) => model.name === name)) this.#drop(name);
  }

  #drop(name: string): void {
    if (this.#overrides.delete(name)) this.#update();
  }

  #checkNeeds(name: string, options: NamedModelOptions): void {
    const others = this.manager.catalog.models().filter((model) => model.name !== name);
    const known = others.map((model) => ({ name: model.name, needs: [...model.wantedNeeds] }));
    const problem = problemsOfNeeds([...known, toNeedingModel(toModelConfig(name, options))]).get(name);
    if (problem !== undefined) throw invalidArgument(problem);
  }

  #aspire(source: ModelSource, models: readonly AspiredModel[]): void {
    this.#aspired.set(source, models);
    this.#update();
  }

  #update(): void {
    const ofSources = this.#sources.map((source) => ({
      title: source === this.#named ? "the program or a client" : "the files and folders of models",
      models: this.#aspired.get(source) ?? [],
    }));
    const ofClients = { title: "a client", models: this.#overrides.aspired, overrides: true };
    const { models, conflicts } = mergePlaces([...ofSources, ofClients]);
    const news = conflicts.filter((conflict) => !this.#conflicts.includes(conflict));
    for (const conflict of news) this.#options.log.error(`${conflict} The first one counts.`);
    this.#conflicts = conflicts;
    this.manager.aspire(models);
  }

  #ofSources(): AspiredModel[] {
    return [...this.#aspired.values()].flat();
  }
}

function notLoaded(failures: readonly LoadFailure[]): ServingError {
  const reasons = failures.map(({ model, version, reason }) => `${model} version ${version}: ${reasonText(reason)}`);
  return failedPrecondition(`${failures.length} models could not be loaded. ${reasons.join(" ")}`);
}

/** With OpenVINO Model Server's text. */
function notRead(failure: unknown): ServingError {
  const { message } = publicError(ServingError.from(failure));
  return failedPrecondition(`Reloading config file failed. ${message}`, failure);
}

function isDescribedElsewhere(name: string): ServingError {
  const message = `The model ${name} is served already, and not described by this program; expected another name.`;
  return new ServingError("already_exists", message);
}
