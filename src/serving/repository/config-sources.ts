import { stat } from "node:fs/promises";
import type { RawOptions } from "../../drivers/option-table.ts";
import { invalidArgument, reasonText, ServingError } from "../../errors.ts";
import { inOrder } from "../../platform/async/promises.ts";
import { fileStamp } from "../../platform/text/file-stamp.ts";
import type { ModelStorage } from "../../storage/model-storage.ts";
import { folderOf, isRemoteAddress, shownAddress } from "../../storage/remote-address.ts";
import type { ConfigEntry } from "../../tensor/codecs/config/config-node.ts";
import { jsonOf } from "./config/findings.ts";
import type { ModelConfig } from "./config/model-config.ts";
import { type ConfigFile, readConfigFile } from "./config/read-config-file.ts";
import { FolderSource, type ListedPath } from "./folder-source.ts";
import { requireStorage } from "./folders/chosen-versions.ts";
import { COMMAND_LINE, type DescribingPlace, mergeSources, refuseByNeeds } from "./merge-sources.ts";
import { SCANS_AT_ONCE, type ScanState } from "./scan-state.ts";

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
    return refuseByNeeds(this.#last);
  }

  async #readSources(scan: ScanState): Promise<readonly ModelConfig[]> {
    const places = [
      { title: COMMAND_LINE, models: this.#models },
      ...(await readFolders(this.#named, scan)),
      ...(await this.#readFiles(scan)),
      ...(await readFolders(this.#folders, scan)),
    ];
    const { models, conflicts, batching } = mergeSources(places, this.#options);
    const [first] = conflicts;
    if (this.#isFirst && first !== undefined) throw invalidArgument(first);
    for (const conflict of conflicts) scan.log.error(`${conflict} The first one counts.`);
    this.#isFirst = false;
    this.#batching = batching;
    return models;
  }

  async #readFiles(scan: ScanState): Promise<readonly DescribingPlace[]> {
    const places: DescribingPlace[] = [];
    for (const source of this.#files) {
      const { models, batching } = await source.read(scan);
      places.push({ title: source.title, models, batching });
    }
    return places;
  }
}

async function readFolders(sources: readonly FolderSource[], scan: ScanState): Promise<readonly DescribingPlace[]> {
  const read = async (source: FolderSource) => ({ title: source.title, models: await source.read(scan) });
  const places: DescribingPlace[] = [];
  for await (const place of inOrder(sources, read, SCANS_AT_ONCE)) places.push(place);
  return places;
}

/** Settings of a {@link FileSource}. */
interface FileSourceOptions {
  /** Names of the settings that our own files may contain. */
  readonly settingNames: readonly string[];
  /** True = the file is read once. */
  readonly isKept?: boolean | undefined;
  readonly storage?: ModelStorage | undefined;
}

/**
 * A configuration file that is read again when it has changed, unless it is kept. While it is broken or missing, its
 * former content applies.
 */
class FileSource {
  readonly title: string;
  readonly #path: string;
  readonly #options: FileSourceOptions;
  #kept: ConfigFile | undefined;
  #stamp = "";
  #problem: string | undefined;
  /** The reason why the file was not read as it is now; undefined = it was. */
  failure: unknown;

  constructor(path: string, options: FileSourceOptions) {
    this.title = shownAddress(path);
    this.#path = path;
    this.#options = options;
  }

  /** Throws the file's errors if it has not been read before. */
  async read(scan: ScanState): Promise<ConfigFile> {
    const stamp = this.#options.isKept ? "" : await this.#stampNow();
    if (this.#kept === undefined || (stamp !== this.#stamp && scan.isSettled(["", this.#path], stamp)))
      await this.#readAgain(stamp);
    const file = this.#kept as ConfigFile;
    for (const warning of file.warnings) scan.log.warn(warning);
    if (this.#problem !== undefined) scan.log.error(this.#problem);
    return file;
  }

  async #stampNow(): Promise<string> {
    if (!isRemoteAddress(this.#path)) return stampOf(this.#path);
    const stamp = requireStorage(this.#options.storage, this.#path).stampOf(this.#path);
    return stamp.then(({ text }) => text).catch(reasonText);
  }

  async #readAgain(stamp: string): Promise<void> {
    this.#stamp = stamp;
    this.#problem = undefined;
    this.failure = undefined;
    try {
      const file = await readConfigFile(this.#path, this.#options.settingNames);
      this.#problem = lateSettings(this.#path, this.#kept?.settings ?? file.settings, file.settings);
      this.#kept = { ...file, settings: this.#kept?.settings ?? file.settings };
    } catch (reason) {
      if (this.#kept === undefined) throw reason;
      // A fault in it stays until it changes; a reason why it could not be read may be over at the next check.
      if (ServingError.from(reason).code !== "invalid_argument") this.#stamp = "";
      this.failure = reason;
      this.#problem = `The configuration stays as it was: ${reasonText(reason)}`;
    }
  }
}

/** The code of the error for a file that is not there. */
async function stampOf(path: string): Promise<string> {
  try {
    return fileStamp(await stat(path));
  } catch (reason) {
    return String((reason as NodeJS.ErrnoException).code);
  }
}

/** An error for settings that differ from those with which the server was started. */
function lateSettings(path: string, old: readonly ConfigEntry[], settings: readonly ConfigEntry[]): string | undefined {
  const before = new Map(old.map(({ key, value }) => [key, jsonOf(value)]));
  const after = new Map(settings.map(({ key, value }) => [key, jsonOf(value)]));
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter((key) => before.get(key) !== after.get(key));
  if (changed.length === 0) return undefined;
  return `${path}: ${changed.join(", ")} changed, which counts from the next start on; models and their settings count now.`;
}
