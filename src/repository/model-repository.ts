import { publicText, ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import type { AspiredModel } from "../serving/aspired-model.ts";
import { failedModel, isFailed } from "./aspire-model.ts";
import type { ModelConfig } from "./config/model-config.ts";
import { ConfigSources, type ModelSources } from "./config-sources.ts";
import { KnownVersions } from "./known-versions.ts";
import type { LoadOptions } from "./load-servable.ts";
import { Look } from "./look.ts";
import { lookAtModel } from "./look-at-model.ts";

/** Settings of a repository. */
export interface RepositoryOptions {
  readonly load: LoadOptions;
  /** Milliseconds without a change after which files count as written. */
  readonly quietMs: number;
  readonly log: Logger;
}

/** Manner of one look. */
export interface LookOptions {
  /** Takes files as they are, or those of the model of this name alone; else they have to be quiet. */
  readonly atOnce?: boolean | string;
}

/**
 * The models that should be served, by their descriptions and the files that are there. Each look sees what has changed;
 * files that are being written are left out until they have been quiet, but those that were there at the first look.
 */
export class ModelRepository {
  readonly #sources: ConfigSources;
  readonly #load: LoadOptions;
  readonly #look: Look;
  readonly #quietMs: number;
  #models: ReadonlyMap<string, AspiredModel> = new Map();
  #known: ReadonlyMap<string, KnownVersions> = new Map();
  #configs: readonly ModelConfig[] = [];
  #isFirst = true;
  #last: Promise<unknown> = Promise.resolve();

  constructor(sources: ModelSources, { load, quietMs, log }: RepositoryOptions) {
    this.#sources = new ConfigSources(sources);
    this.#load = load;
    this.#quietMs = quietMs;
    this.#look = new Look(log, quietMs);
  }

  /** The folders in which models, versions and descriptions come and go, as of the last look. */
  get folders(): ReadonlySet<string> {
    return new Set([...this.#sources.folders, ...this.#configs.flatMap(({ path }) => path ?? [])]);
  }

  /** The description of a model as of the last look. */
  describe(name: string): ModelConfig | undefined {
    return this.#configs.find((config) => config.name === name);
  }

  /**
   * Looks what should be served now. The first look throws what is wrong with the descriptions; later
   * ones log it and go on with what was. A model of which nothing can be listed never stops the others.
   */
  look({ atOnce = false }: LookOptions = {}): Promise<readonly AspiredModel[]> {
    const looking = this.#last.then(() => this.#lookNow(atOnce));
    this.#last = looking.catch(() => {});
    return looking;
  }

  async #lookNow(atOnce: boolean | string): Promise<readonly AspiredModel[]> {
    this.#look.begin(this.#isFirst || atOnce);
    this.#configs = await this.#sources.read(this.#look);
    this.#known = new Map(
      this.#configs.map(({ name }) => [name, this.#known.get(name) ?? new KnownVersions(this.#quietMs)]),
    );
    const models = new Map<string, AspiredModel>();
    for (const config of this.#configs) models.set(config.name, await this.#lookAt(config));
    this.#models = models;
    this.#isFirst = false;
    return [...models.values()];
  }

  async #lookAt(config: ModelConfig): Promise<AspiredModel> {
    const before = this.#models.get(config.name);
    const known = this.#known.get(config.name) as KnownVersions;
    try {
      const { model, available, isPending, warnings } = await lookAtModel(config, this.#load, (version, changedMs) => {
        const key = [config.name, version.version] as const;
        return known.choose(version, () => this.#look.isSettled(key, version.fingerprint, changedMs));
      });
      known.saw(available);
      for (const warning of warnings) this.#look.told.warn(warning);
      // As where a version's folder is renamed: the old one answers until the new one counts.
      const isGap = isPending && model.versions.length === 0;
      return isGap && before !== undefined ? { ...model, versions: before.versions } : model;
    } catch (reason) {
      const model = afterFailure(before, reason);
      // Its state tells why it does not load.
      if (model === undefined) return failedModel(config, reason);
      this.#look.told.error(`The model ${config.name}: ${publicText(reason)}`);
      return model;
    }
  }
}

/** A disk that is gone, or a description that cannot be served, takes no model along; a folder that has no version any more does. Undefined where nothing was served. */
function afterFailure(before: AspiredModel | undefined, reason: unknown): AspiredModel | undefined {
  if (before === undefined || before.versions.every(({ fingerprint }) => isFailed(fingerprint))) return undefined;
  return ServingError.from(reason).code === "not_found" ? { ...before, versions: [] } : before;
}
