import { reasonText } from "../errors.ts";
import type { ModelStorage } from "../storage/model-storage.ts";
import { isRemoteAddress, shownAddress } from "../storage/remote-address.ts";
import { configText, type ModelConfig } from "./config/model-config.ts";
import { listModels, type ModelList } from "./folders/list-models.ts";
import { listRemoteModels } from "./folders/list-remote-models.ts";
import { requireStorage } from "./folders/require-storage.ts";
import type { ScanState } from "./scan-state.ts";

/** A folder of models that is listed again at each check. */
export class FolderSource {
  readonly title: string;
  readonly #path: string;
  readonly #storage: ModelStorage | undefined;
  #kept: readonly ModelConfig[] | undefined;

  constructor(path: string, storage?: ModelStorage) {
    this.title = shownAddress(path);
    this.#storage = storage;
    this.#path = path;
  }

  /**
   * Throws the reason why the folder cannot be listed, or has no model, where it has not been listed before; later the
   * former models stay.
   */
  async read(scan: ScanState): Promise<readonly ModelConfig[]> {
    const list = await this.#list(scan);
    for (const warning of list?.warnings ?? []) scan.log.warn(warning);
    if (list !== undefined) this.#kept = list.models.map((model) => this.#choose(model, scan));
    return this.#kept as readonly ModelConfig[];
  }

  async #list(scan: ScanState): Promise<ModelList | undefined> {
    try {
      return await (isRemoteAddress(this.#path)
        ? listRemoteModels(this.#path, requireStorage(this.#storage, this.#path))
        : listModels(this.#path));
    } catch (reason) {
      if (this.#kept === undefined) throw reason;
      scan.log.error(`Its models are served as they were: ${reasonText(reason)}`);
      return undefined;
    }
  }

  /** The former configuration, while the one in the model's folder is being written or cannot be served. */
  #choose(model: ModelConfig, scan: ScanState): ModelConfig {
    const before = this.#kept?.find(({ name }) => name === model.name);
    if (before === undefined) return model;
    const text = configText(model);
    if (text === configText(before)) return before;
    if (!scan.isSettled([model.name, this.#path], text)) return before;
    if (model.refusal === undefined || before.refusal !== undefined) return model;
    scan.log.error(`The model ${model.name} is served as it was: ${model.refusal}.`);
    return before;
  }
}
