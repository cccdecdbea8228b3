import { failedPrecondition, invalidArgument, reasonText, ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import type { LoadOptions } from "../repository/load-servable.ts";
import { neededModels } from "../repository/model-options.ts";
import type { AspiredModel } from "../serving/aspired-model.ts";
import { problemsOfNeeds } from "../serving/check-needs.ts";
import type { DescribedModel } from "../serving/described-model.ts";
import { logState } from "../serving/log-state.ts";
import { type LoadFailure, type ManagerOptions, ModelManager } from "../serving/model-manager.ts";
import type { ModelSource } from "./model-source.ts";
import type { NamedModelOptions } from "./named-model.ts";
import { NamedModels } from "./named-models.ts";

/** Settings of loading. */
export interface ServedModelsOptions {
  readonly manager: Omit<ManagerOptions, "refresh" | "log">;
  /** Fails the start where any model cannot be loaded. */
  readonly failFast: boolean;
  readonly log: Logger;
}

/** The models of a server: what its sources say should be served, under one manager. */
export class ServedModels {
  readonly manager: ModelManager;
  readonly #sources: readonly ModelSource[];
  readonly #named: NamedModels;
  readonly #options: ServedModelsOptions;
  readonly #aspired = new Map<ModelSource, readonly AspiredModel[]>();

  /** Serves what the source says, and what is given to {@link load}. */
  constructor(source: ModelSource, options: ServedModelsOptions) {
    this.#options = options;
    this.#named = source instanceof NamedModels ? source : new NamedModels({});
    this.#sources = source === this.#named ? [source] : [source, this.#named];
    const refresh = async (name: string) => {
      for (const one of this.#sources) await one.refresh(name);
    };
    this.manager = new ModelManager({ ...options.manager, refresh, log: options.log });
  }

  /** Resolves once everything is loaded or has failed; rejects where nothing could be loaded, or anything could not with `failFast`. */
  async start(load: LoadOptions, isAlone: boolean): Promise<void> {
    const { log, failFast } = this.#options;
    // The failure of the only model is what the start rejects with.
    if (!isAlone) this.manager.onState(logState(log));
    for (const source of this.#sources) await source.start(load, (models) => this.#aspire(source, models));
    const failures = await this.manager.settled();
    const [first, ...others] = failures;
    const isFatal = failFast || this.manager.servables().length === 0;
    if (first !== undefined && isFatal) throw others.length === 0 ? first.reason : notLoaded(failures);
    if (isAlone) this.manager.onState(logState(log));
  }

  /** Loads a model's files as they are now; with options as they say, be it new or there already. */
  async load(name: string, options?: NamedModelOptions): Promise<void> {
    if (options !== undefined) {
      if (!this.#named.has(name) && this.manager.catalog.get(name) !== undefined) throw isDescribedElsewhere(name);
      this.#checkNeeds(name, options);
      this.#named.set(name, options);
    }
    await this.manager.load(name);
  }

  /** Serves these models in place of all others, whatever described them. */
  async reconfigure(models: readonly DescribedModel[]): Promise<void> {
    for (const source of this.#sources.filter((one) => one !== this.#named)) {
      source.stop();
      this.#aspired.delete(source);
    }
    await this.#named.replace(Object.fromEntries(models.map(({ name, ...options }) => [name, options])));
  }

  /** Looks again at the files that describe the models, and at those of the models. */
  async look(): Promise<void> {
    for (const source of this.#sources) await source.look();
  }

  /** Frees every model. */
  async close(): Promise<void> {
    for (const source of this.#sources) source.stop();
    await this.manager.close();
  }

  #checkNeeds(name: string, options: NamedModelOptions): void {
    const others = this.manager.catalog.models().filter((model) => model.name !== name);
    const known = others.map((model) => ({ name: model.name, needs: [...model.wantedNeeds] }));
    const problem = problemsOfNeeds([...known, { name, needs: neededModels(options) }]).get(name);
    if (problem !== undefined) throw invalidArgument(problem);
  }

  #aspire(source: ModelSource, models: readonly AspiredModel[]): void {
    this.#aspired.set(source, models);
    this.manager.aspire([...this.#aspired.values()].flat());
  }
}

function notLoaded(failures: readonly LoadFailure[]): ServingError {
  const reasons = failures.map(({ model, version, reason }) => `${model} version ${version}: ${reasonText(reason)}`);
  return failedPrecondition(`${failures.length} models could not be loaded. ${reasons.join(" ")}`);
}

function isDescribedElsewhere(name: string): ServingError {
  const message = `The model ${name} is served already, and not described by this program; expected another name.`;
  return new ServingError("already_exists", message);
}
