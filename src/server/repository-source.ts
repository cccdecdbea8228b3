import { invalidArgument } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import type { AspiredModel } from "../serving/aspired-model.ts";
import { withNeeds } from "../serving/check-needs.ts";
import type { DescribedModel } from "../serving/inference-service.ts";
import type { ModelConfig } from "../serving/repository/config/model-config.ts";
import type { ModelSources } from "../serving/repository/config-sources.ts";
import type { LoadOptions } from "../serving/repository/load-servable.ts";
import { ModelRepository } from "../serving/repository/model-repository.ts";
import { RepositoryPoll } from "../serving/repository/repository-poll.ts";
import { servedNames } from "../serving/served-names.ts";
import type { ModelSource } from "./model-source.ts";
import { ofClient, toModelConfig } from "./named-model.ts";

/** Settings of a repository that is served. */
export interface RepositorySourceOptions {
  /** Milliseconds between two scans; 0 = one scan, at the start; negative = only on request. */
  readonly pollMs: number;
  /** Names of the models that are loaded at the start, others when clients ask for them; absent = all are. */
  readonly explicit?: readonly string[];
  readonly log: Logger;
}

/** In the place of names, as Triton has it: all models of the first scan. */
const ALL = "*";

type Aspire = (models: readonly AspiredModel[]) => void;

/** The models that files and folders describe, which are scanned again and again. */
export class RepositorySource implements ModelSource {
  readonly #sources: ModelSources;
  readonly #options: RepositorySourceOptions;
  readonly #wanted: Set<string> | undefined;
  #repository: ModelRepository | undefined;
  #poll: RepositoryPoll | undefined;
  #aspire: Aspire = () => {};
  #isUnloaded: (name: string) => boolean = () => false;
  /** All models, as of the last scan. */
  #models: readonly AspiredModel[] = [];
  /** Those that should be served, by name. */
  #served: ReadonlyMap<string, AspiredModel> = new Map();

  constructor(sources: ModelSources, options: RepositorySourceOptions) {
    this.#sources = sources;
    this.#options = options;
    this.#wanted = options.explicit && new Set(options.explicit);
  }

  /**
   * Throws the faults in the descriptions of the models, and `invalid_argument` for a name to load that none has.
   */
  async start(load: LoadOptions, aspire: Aspire, isUnloaded: (name: string) => boolean): Promise<void> {
    const { pollMs, log } = this.#options;
    const quietMs = Math.max(0, pollMs);
    const repository = new ModelRepository(this.#sources, { load, quietMs, log });
    this.#repository = repository;
    this.#aspire = aspire;
    this.#isUnloaded = isUnloaded;
    this.#poll = new RepositoryPoll(repository, {
      pollMs: quietMs,
      onChange: (models) => {
        this.#models = models;
        this.#nameAll();
        this.#forgetGone();
        if (pollMs > 0) this.#update();
      },
    });
    this.#checkAlone();
    if (pollMs < 0) aspire([]);
    else await this.rescan();
    this.#checkWanted();
  }

  /** Scans everything now. */
  async rescan(): Promise<void> {
    await this.#poll?.scan();
    this.#update();
  }

  /** Their versions are looked for as those of the models before. */
  async replace(models: readonly DescribedModel[]): Promise<void> {
    const toConfig = (model: DescribedModel) => toModelConfig(model.name, ofClient(model, this.describe(model.name)));
    this.#repository?.replace(models.map(toConfig));
    for (const { name } of models) this.#wanted?.add(name);
    await this.rescan();
  }

  /** Without polling the other models stay as they are served: their files may be half written. */
  async refresh(name: string): Promise<void> {
    await this.#poll?.scan(name);
    if (this.#has(name)) this.#wanted?.add(name);
    if (this.#options.pollMs > 0) this.#update();
    else this.#updateOne(name);
  }

  get findsVersions(): boolean {
    return this.#options.pollMs > 0 && this.#repository?.hasVersionFolders === true;
  }

  get failure(): unknown {
    return this.#repository?.failure;
  }

  describe(name: string): ModelConfig | undefined {
    return this.#repository?.describe(name);
  }

  /** As of the last scan. */
  loadable(): readonly AspiredModel[] {
    return this.#wanted === undefined ? [] : this.#models;
  }

  stop(): void {
    this.#poll?.stop();
    this.#repository = undefined;
    this.#models = [];
    this.#aspire = () => {};
  }

  #update(): void {
    this.#serve(this.#wanted === undefined ? this.#models : wantedModels(this.#wanted, this.#models));
  }

  /** Takes one model as it is now, with models that it needs and that are not loaded. */
  #updateOne(name: string): void {
    const kept = new Map([...this.#served].filter(([other]) => other !== name && !this.#isUnloaded(other)));
    const models = [...kept.values(), ...this.#models.filter((model) => !kept.has(model.name))];
    const wanted = [...this.#served.keys()].filter((other) => this.#wanted?.has(other) ?? true);
    this.#serve(wantedModels(new Set([...wanted, name]), models));
  }

  #serve(models: readonly AspiredModel[]): void {
    this.#served = new Map(models.map((model) => [model.name, model]));
    this.#aspire(models);
  }

  #has(name: string): boolean {
    return this.#models.some((model) => model.name === name);
  }

  /** Puts the names of the models in the place of `*`; those that come later wait until they are asked for. */
  #nameAll(): void {
    if (this.#wanted?.delete(ALL)) for (const { name } of this.#models) this.#wanted.add(name);
  }

  /** A model that a client has unloaded waits for a client, too, if its files go and come back. */
  #forgetGone(): void {
    for (const name of this.#wanted ?? []) if (!this.#has(name) && this.#isUnloaded(name)) this.#wanted?.delete(name);
  }

  #checkAlone(): void {
    const { explicit = [] } = this.#options;
    if (!explicit.includes(ALL) || explicit.length === 1) return;
    throw invalidArgument(`--load-model is ${explicit.join(", ")}; expected "${ALL}" alone, or names alone.`);
  }

  #checkWanted(): void {
    const { pollMs, explicit = [] } = this.#options;
    const unknown = pollMs < 0 ? undefined : explicit.find((name) => name !== ALL && !this.#has(name));
    if (unknown === undefined) return;
    const names = this.#models.map(({ name }) => name);
    throw invalidArgument(`--load-model is "${unknown}", which no model is called.${servedNames(unknown, names)}`);
  }
}

/** The models of these names, and those that they need. */
function wantedModels(names: ReadonlySet<string>, models: readonly AspiredModel[]): readonly AspiredModel[] {
  const needs = models.map(({ name, versions }) => ({
    name,
    needs: versions.flatMap((version) => version.needs ?? []),
  }));
  const chosen = withNeeds(names, needs);
  const found = models.filter(({ name }) => chosen.has(name));
  return found.map((model) => ({ ...model, isDependencyOnly: !names.has(model.name) }));
}
