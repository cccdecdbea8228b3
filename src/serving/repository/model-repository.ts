import { stat } from "node:fs/promises";
import { publicText, ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { inOrder } from "../../platform/async/promises.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";
import type { AspiredModel } from "../aspired-model.ts";
import type { ModelConfig } from "./config/model-config.ts";
import { ConfigSources, type ModelSources } from "./config-sources.ts";
import type { LoadOptions } from "./load-servable.ts";
import { failedModel, isFailed, scanModel } from "./scan-model.ts";
import { KnownVersions, SCANS_AT_ONCE, ScanState } from "./scan-state.ts";

/** Settings of a repository. */
export interface RepositoryOptions {
  readonly load: LoadOptions;
  /** Time without a change after which files count as written, in milliseconds. */
  readonly quietMs: number;
  readonly log: Logger;
}

/** Options of one check. */
export interface ScanOptions {
  /** Takes files as they are, for all models or for the model of this name; other files have to be quiet. */
  readonly atOnce?: boolean | string;
}

/**
 * The models that should be served, by their descriptions and files. Each check finds changes. Files that are being
 * written are ignored until they have been quiet, except those that existed at the first check.
 */
export class ModelRepository {
  readonly #sources: ConfigSources;
  readonly #load: LoadOptions;
  readonly #scan: ScanState;
  readonly #quietMs: number;
  #models: ReadonlyMap<string, AspiredModel> = new Map();
  #known: ReadonlyMap<string, KnownVersions> = new Map();
  #configs: readonly ModelConfig[] = [];
  #hasVersionFolders = false;
  #isFirst = true;
  #last: Promise<unknown> = Promise.resolve();

  constructor(sources: ModelSources, { load, quietMs, log }: RepositoryOptions) {
    this.#sources = new ConfigSources(sources, load.storage);
    this.#load = load;
    this.#quietMs = quietMs;
    this.#scan = new ScanState(log, quietMs);
  }

  /** The folders in which models, versions and descriptions may be added or removed, as of the last check. */
  get folders(): ReadonlySet<string> {
    const paths = [...this.#sources.folders, ...this.#configs.flatMap(({ path }) => path ?? [])];
    return new Set(paths.filter((path) => !isRemoteAddress(path)));
  }

  /** True once a model had folders of versions. */
  get hasVersionFolders(): boolean {
    return this.#hasVersionFolders;
  }

  /** The reason why a configuration file was not read by the last check; undefined = all were. */
  get failure(): unknown {
    return this.#sources.failure;
  }

  /** The description of a model as of the last check. */
  describe(name: string): ModelConfig | undefined {
    return this.#configs.find((config) => config.name === name);
  }

  /** Takes these models from the next check on, in place of those that files and folders describe. */
  replace(models: readonly ModelConfig[]): void {
    this.#sources.replace(models);
  }

  /**
   * Finds the models that should be served now. The first check throws errors in the descriptions; later ones log them
   * and use the former descriptions. A model that cannot be listed never affects the others.
   */
  scan({ atOnce = false }: ScanOptions = {}): Promise<readonly AspiredModel[]> {
    const scanning = this.#last.then(() => this.#scanNow(atOnce));
    this.#last = scanning.catch(() => {});
    return scanning;
  }

  async #scanNow(atOnce: boolean | string): Promise<readonly AspiredModel[]> {
    this.#scan.begin(this.#isFirst || atOnce);
    if (atOnce !== false) this.#load.storage?.expire();
    this.#configs = await this.#sources.read(this.#scan);
    this.#known = new Map(
      this.#configs.map(({ name }) => [name, this.#known.get(name) ?? new KnownVersions(this.#quietMs)]),
    );
    const models = new Map<string, AspiredModel>();
    const scan = async (config: ModelConfig) => [config.name, await this.#scanModel(config)] as const;
    for await (const [name, model] of inOrder(this.#configs, scan, SCANS_AT_ONCE)) models.set(name, model);
    this.#models = models;
    this.#isFirst = false;
    return [...models.values()];
  }

  async #scanModel(config: ModelConfig): Promise<AspiredModel> {
    const before = this.#models.get(config.name);
    const known = this.#known.get(config.name)!;
    try {
      const {
        model: found,
        available,
        isPending,
        warnings,
        hasFolders,
        disk,
      } = await scanModel(config, this.#load, {
        served: known.present,
        settle: (version, changedMs) => {
          const key = [config.name, version.version] as const;
          return known.choose(version, () => this.#scan.isSettled(key, version.fingerprint, changedMs));
        },
      });
      known.saw(available, disk);
      const model = { ...found, present: known.present };
      this.#hasVersionFolders ||= hasFolders;
      for (const warning of warnings) this.#scan.log.warn(warning);
      // For example after a version's folder was renamed: the old one answers until the new one counts as written.
      const isGap = isPending && model.versions.length === 0;
      return isGap && before !== undefined ? { ...model, versions: before.versions } : model;
    } catch (reason) {
      const disk = await diskOf(config);
      const isElsewhere = known.disk !== undefined && disk !== known.disk;
      // The disk that was mounted on its folder is gone: the folder below that is empty, and on another disk.
      const isWithoutDisk = isElsewhere && disk !== undefined;
      const model = afterFailure(before, reason, isWithoutDisk);
      // Its state shows why it does not load.
      if (model === undefined) return failedModel(config, reason);
      const consequence = isWithoutDisk ? " is served as it was, since its disk is gone" : "";
      this.#scan.log.error(`The model ${config.name}${consequence}: ${publicText(reason)}`);
      return isElsewhere ? { ...model, present: [] } : model;
    }
  }
}

/**
 * A missing disk, or a description with errors, leaves the model served; a folder that has lost its versions does not.
 * Undefined if the model was not served.
 */
function afterFailure(
  before: AspiredModel | undefined,
  reason: unknown,
  isWithoutDisk: boolean,
): AspiredModel | undefined {
  if (before === undefined || before.versions.every(({ fingerprint }) => isFailed(fingerprint))) return undefined;
  const isEmptied = ServingError.from(reason).code === "not_found" && !isWithoutDisk;
  return isEmptied ? { ...before, versions: [] } : before;
}

/** The number of the disk that a model's folder is on; undefined if it is not there. */
async function diskOf({ path = "" }: ModelConfig): Promise<number | undefined> {
  const stats = isRemoteAddress(path) ? undefined : await stat(path).catch(() => undefined);
  return stats?.dev;
}
