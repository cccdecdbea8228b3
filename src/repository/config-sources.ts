import type { RawOptions } from "../drivers/option-table.ts";
import { invalidArgument } from "../errors.ts";
import { problemsOfNeeds } from "../serving/check-needs.ts";
import type { ModelStorage } from "../storage/model-storage.ts";
import { folderOf } from "../storage/remote-address.ts";
import type { ModelConfig } from "./config/model-config.ts";
import { FileSource } from "./file-source.ts";
import { FolderSource, type ListedPath } from "./folder-source.ts";
import type { ScanState } from "./scan-state.ts";
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
   * The models as described now, each name once. The first call throws errors; later calls log them and return the
   * former models.
   */
  async read(scan: ScanState): Promise<readonly ModelConfig[]> {
    const all = new Map<string, Described>();
    const add = (title: string, models: readonly ModelConfig[]) => {
      for (const model of models) this.#add(all, { title, model }, scan);
    };
    add("the command line", this.#models);
    for (const source of this.#named) add(source.title, await source.read(scan));
    // A batching_parameters_file applies to all TensorFlow models.
    const batching: RawOptions[] = [];
    for (const source of this.#files) {
      const file = await source.read(scan);
      if (file.batching !== undefined) batching.push(file.batching);
      add(source.title, file.models);
    }
    for (const source of this.#folders) add(source.title, await source.read(scan));
    this.#isFirst = false;
    const problems = problemsOfNeeds(Array.from(all.values(), ({ model }) => toNeedingModel(model)));
    const ofTensorflow = Object.assign({}, ...batching) as RawOptions;
    return Array.from(all.values(), ({ model }) => {
      const shared = model.driver === "tensorflow" ? { ...ofTensorflow, ...this.#options } : this.#options;
      const refusal = problems.get(model.name)?.replace(/\.$/, "");
      return { ...(refusal && { refusal }), ...model, options: { ...shared, ...model.options } };
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
