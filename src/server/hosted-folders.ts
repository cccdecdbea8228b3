import { ServingError } from "../errors.ts";
import { assertModelName } from "../serving/model-name.ts";
import type { PlatformModels } from "../serving/platform-models.ts";
import { findPlatformModel, type PlatformFolder } from "../serving/repository/formats/sagemaker.ts";
import type { ServedModels } from "./served-models.ts";

/** The models that a platform loads from one folder. */
export class HostedFolders implements PlatformModels {
  readonly #folder: PlatformFolder;
  readonly #served: ServedModels;
  /** By name, true once it is loaded. */
  readonly #models = new Map<string, boolean>();

  constructor(folder: PlatformFolder, served: ServedModels) {
    this.#folder = folder;
    this.#served = served;
  }

  names(): readonly string[] {
    return [...this.#models].flatMap(([name, isLoaded]) => (isLoaded ? [name] : []));
  }

  async load(name: string, url: string): Promise<void> {
    assertModelName(name);
    if (this.#models.has(name)) throw new ServingError("already_exists", `Model ${name} is already loaded.`);
    this.#models.set(name, false);
    try {
      const found = await findPlatformModel(this.#folder, url);
      if (found === undefined) {
        throw new ServingError("not_found", `Could not find valid base path ${url} for servable ${name}`);
      }
      const { options = {} } = this.#folder;
      await this.#served.load(name, { ...found, options, versions: "all" }).catch(async (reason) => {
        await this.#served.forget(name);
        throw reason;
      });
    } catch (reason) {
      this.#models.delete(name);
      throw reason;
    }
    this.#models.set(name, true);
  }

  async unload(name: string): Promise<void> {
    if (this.#models.get(name) !== true) throw new ServingError("not_found", `Model ${name} is not loaded yet`);
    // Until it is gone, nothing else may have its name.
    this.#models.set(name, false);
    try {
      await this.#served.forget(name);
    } finally {
      this.#models.delete(name);
    }
  }
}
