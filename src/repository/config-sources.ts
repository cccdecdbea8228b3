import { inOrder } from "../async/in-order.ts";
import type { RawOptions } from "../drivers/option-table.ts";
import { invalidArgument } from "../errors.ts";
import { problemsOfNeeds } from "../serving/check-needs.ts";
import type { ModelStorage } from "../storage/model-storage.ts";
import { folderOf } from "../storage/remote-address.ts";
import type { ModelConfig } from "./config/model-config.ts";
import { FileSource } from "./file-source.ts";
import { FolderSource, type ListedPath } from "./folder-source.ts";
import { SCANS_AT_ONCE, type ScanState } from "./scan-state.ts";
import { toNeedingModel } from "./to-needing-model.ts";

/** Descriptions of the models with which a server is started. */
export interface ModelSources {
  /** Models of another server's command line. */
  readonly models?: readonly ModelConfig[];
  /** Models of the command line by name: a file or a folder each, which may have Triton's config.pbtxt. */
  readonly named?: readonly Required<ListedPath>[];
  /** Configuration files, ours or another server's. */
  readonly files?: readonly string[];
  /** True = reads these files once; default: again whenever they have changed. */
  readonly keepsFiles?: boolean;
  /** Names of the settings that our own files may contain. */
  readonly settingNames?: readonly string[];
  /** Folders of models. */
  readonly folders?: readonly string[];
  /** `-o` options for all models; a model's own options override them. */
  readonly options?: RawOptions;
}

/** Reads the descriptions of the models, again at each check. */
export class ConfigSources {
  readonly #models: readonly ModelConfig[];
  readonly #files: readonly FileSource[];
  readonly #named: readonly FolderSource[];
  readonly #folders: readonly FolderSource[];
  /** Folders of the files that describe the models. */
  readonly folders: readonly string[];
  readonly #options: RawOptions;
  /** Options of the configuration files for all TensorFlow models, as of the last check. */
  #batching: RawOptions = {};
  /** The models as of the last check. */
  #last: readonly ModelConfig[] = [];
  /** Models in place of all that the sources describe. */
  #given: readonly ModelConfig[] | undefined;
  #isFirst = true;

  constructor(sources: ModelSources, storage?: ModelStorage) {
    const { models = [], named = [], files = [], settingNames = [], folders = [], options = {}, keepsFiles } = sources;
    this.#options = options;
    this.#models = models;
    this.#files = files.map((path) => new FileSource(path, { settingNames, isKept: keepsFiles, storage }));
    this.#named = named.map((path) => new FolderSource(path, storage));
    this.#folders = folders.map((path) => new FolderSource({ path }, storage));
    this.folders = [...files.map(folderOf), ...folders];
  }

  /** The reason why a configuration file was not read as it is now; undefined = all were. */
  get failure(): unknown {
    return this.#files.find(({ failure }) => failure !== undefined)?.failure;
  }

  /**
   * Takes these models from now on, in place of all that the sources describe. One whose path stays keeps its driver,
   * options and hooks; others have the options for all models.
   */
  replace(models: readonly ModelConfig[]): void {
    const former = new Map(this.#last.map((model) => [model.name, model]));
    this.#given = models.map((model) => {
      const before = former.get(model.name);
      const { versions, labels, requestLog } = model;
      if (before !== undefined && before.path === model.path)
        return { ...before, versions, labels, ...(requestLog !== undefined && { requestLog }) };
      return { ...model, options: { ...this.#batching, ...this.#options, ...model.options } };
    });
  }

  /**
   * The models as described now, each name once. The first call throws errors; later calls log them and return the
   * former models.
   */
  async read(scan: ScanState): Promise<readonly ModelConfig[]> {
    this.#last = this.#given ?? (await this.#readSources(scan));
    const problems = problemsOfNeeds(this.#last.map(toNeedingModel));
    return this.#last.map((model) => {
      const refusal = problems.get(model.name)?.replace(/\.$/, "");
      return { ...(refusal && { refusal }), ...model };
    });
  }

  async #readSources(scan: ScanState): Promise<readonly ModelConfig[]> {
    const all = new Map<string, Described>();
    const add = (title: string, models: readonly ModelConfig[]) => {
      for (const model of models) this.#add(all, { title, model }, scan);
    };
    add("the command line", this.#models);
    const addAll = async (sources: readonly FolderSource[]) => {
      const read = async (source: FolderSource) => [source.title, await source.read(scan)] as const;
      for await (const [title, models] of inOrder(sources, read, SCANS_AT_ONCE)) add(title, models);
    };
    await addAll(this.#named);
    // A batching_parameters_file applies to all TensorFlow models.
    const batching: RawOptions[] = [];
    for (const source of this.#files) {
      const file = await source.read(scan);
      if (file.batching !== undefined) batching.push(file.batching);
      add(source.title, file.models);
    }
    await addAll(this.#folders);
    this.#isFirst = false;
    this.#batching = Object.assign({}, ...batching) as RawOptions;
    return Array.from(all.values(), ({ model }) => {
      const shared = model.driver === "tensorflow" ? { ...this.#batching, ...this.#options } : this.#options;
      return { ...model, options: { ...shared, ...model.options } };
    });
  }

  #add(all: Map<string, Described>, described: Described, scan: ScanState): void {
    const { name } = described.model;
    const earlier = all.get(name);
    if (earlier === undefined) {
      all.set(name, described);
      return;
    }
    const message = `The model "${name}" is described by ${earlier.title} and by ${described.title}; expected each name once.`;
    if (this.#isFirst) throw invalidArgument(message);
    scan.log.error(`${message} The first one counts.`);
  }
}

interface Described {
  /** Place of a description, for messages. */
  readonly title: string;
  readonly model: ModelConfig;
}
