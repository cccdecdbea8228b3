import { reasonText } from "../../errors.ts";
import type { ModelStorage } from "../../storage/model-storage.ts";
import { isRemoteAddress, shownAddress } from "../../storage/remote-address.ts";
import { configText, type ModelConfig, modelConfig } from "./config/model-config.ts";
import { requireStorage } from "./folders/chosen-versions.ts";
import { describeFolder, listModels, listRemoteModels, type ModelList } from "./folders/list-models.ts";
import { COMMAND_LINE } from "./merge-sources.ts";
import type { ScanState } from "./scan-state.ts";

/** A folder of models, or the path of one model if it has a name. */
export interface ListedPath {
  readonly path: string;
  readonly name?: string;
}

/** The models at a path, which is looked at again at each check. */
export class FolderSource {
  readonly title: string;
  readonly #listed: ListedPath;
  readonly #storage: ModelStorage | undefined;
  #kept: readonly ModelConfig[] | undefined;

  constructor(listed: ListedPath, storage?: ModelStorage) {
    this.title = listed.name === undefined ? shownAddress(listed.path) : COMMAND_LINE;
    this.#storage = storage;
    this.#listed = listed;
  }

  /**
   * Throws the reason why the folder cannot be listed, or has no model, if it has not been listed before; later the
   * former models stay. That a model with a name cannot be found is told when it is loaded.
   */
  async read(scan: ScanState): Promise<readonly ModelConfig[]> {
    const list = await this.#list(scan);
    for (const warning of list?.warnings ?? []) scan.log.warn(warning);
    if (list !== undefined) this.#kept = list.models.map((model) => this.#choose(model, scan));
    return this.#kept as readonly ModelConfig[];
  }

  async #list(scan: ScanState): Promise<ModelList | undefined> {
    const { path, name } = this.#listed;
    const list = name === undefined ? listModels : (folder: string) => listNamed(folder, name);
    try {
      return await (isRemoteAddress(path)
        ? listRemoteModels(path, requireStorage(this.#storage, path), list)
        : list(path));
    } catch (reason) {
      if (this.#kept !== undefined) scan.log.error(`Its models are served as they were: ${reasonText(reason)}`);
      else if (name === undefined) throw reason;
      else return { models: [modelConfig({ name, path })], warnings: [] };
      return undefined;
    }
  }

  /** The former configuration, while the one in the model's folder is being written or cannot be served. */
  #choose(model: ModelConfig, scan: ScanState): ModelConfig {
    const before = this.#kept?.find(({ name }) => name === model.name);
    if (before === undefined) return model;
    const text = configText(model);
    if (text === configText(before)) return before;
    if (!scan.isSettled([model.name, this.#listed.path], text)) return before;
    if (model.refusal === undefined || before.refusal !== undefined) return model;
    scan.log.error(`The model ${model.name} is served as it was: ${model.refusal}.`);
    return before;
  }
}

async function listNamed(path: string, name: string): Promise<ModelList> {
  const { config, warnings } = await describeFolder(path, { name });
  return { models: [config], warnings };
}
