import { currentScope } from "../access/call-scope.ts";
import { invalidArgument, ServingError } from "../errors.ts";
import type { AspiredModel } from "../serving/aspired-model.ts";
import type { LoadOverrides } from "../serving/inference-service.ts";
import { assertModelName } from "../serving/model-name.ts";
import type { PlatformModels } from "../serving/platform-models.ts";
import type { readConfigOverride as ReadConfigOverride } from "../serving/repository/client-overrides.ts";
import type { ModelConfig } from "../serving/repository/config/model-config.ts";
import { findPlatformModel, type PlatformFolder } from "../serving/repository/formats/sagemaker.ts";
import type { LoadOptions } from "../serving/repository/load-servable.ts";
import { aspireModel } from "../serving/repository/scan-model.ts";
import type { NamedModelOptions } from "./named-model.ts";

/** A model that is served as a client has described it. */
export interface OverriddenModel {
  readonly model: AspiredModel;
  /** Removes the files that the client has given; models that are loaded from them stay loaded. */
  remove(): void;
}

/** Prepares a model whose files a client gives too; throws `invalid_argument` for what cannot be taken. */
export async function overrideFiles(
  name: string,
  { config: json, files }: LoadOverrides,
  load: LoadOptions,
): Promise<OverriddenModel> {
  assertName(name);
  const { writeOverrideFiles } = await importOverrides();
  const folder = await writeOverrideFiles(files);
  try {
    const { config, warnings } = await readOverride(json, { name, folder: folder.path });
    for (const warning of warnings) load.log.warn(warning, { model: name });
    return { model: await aspireModel(config, load), remove: () => folder.remove() };
  } catch (reason) {
    folder.remove();
    throw reason;
  }
}

/** Describes a model again whose own files are loaded; throws `invalid_argument` for what cannot be taken. */
export async function overrideConfig(base: ModelConfig, json: string, load: LoadOptions): Promise<OverriddenModel> {
  const { name, path } = base;
  if (path === undefined) {
    throw invalidArgument(`the model ${name} has no folder of its own, whose configuration could be replaced`);
  }
  const { config, warnings } = await readOverride(json, { name, folder: path });
  for (const warning of warnings) load.log.warn(warning, { model: name });
  return { model: await aspireModel({ ...config, ...partsBeside(base) }, load), remove: () => {} };
}

/** Nearly no client describes models. */
const importOverrides = () => import("../serving/repository/client-overrides.ts");

const readOverride = async (...given: Parameters<typeof ReadConfigOverride>) => {
  const { readConfigOverride } = await importOverrides();
  const read = readConfigOverride(...given);
  assertStages(read.config);
  return read;
};

/** A caller that may change some models alone must not make one that runs others for it. */
function assertStages({ stages = [] }: ModelConfig): void {
  if (stages.some((stage) => "model" in stage && stage.model !== undefined)) currentScope()?.assertControlsAll();
}

/** Parts of a model that no ModelConfig has. */
function partsBeside({ hooks, labels, workers, threads, maxQueue, maxQueueBytes }: ModelConfig): Partial<ModelConfig> {
  const parts = { hooks, labels, workers, threads, maxQueue, maxQueueBytes };
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined));
}

/** Throws, with Triton's texts, for a name that no model of a repository may have. */
function assertName(name: string): void {
  assertModelName(name);
  if (name.trim() === "") throw invalidArgument("Model name cannot be empty. Please enter a valid name to deploy.");
  if (name !== ".." && !/[/\0]/.test(name)) return;
  throw invalidArgument(`invalid model name '${name}', model name must not contain path traversal characters`);
}

/** Models as clients have described them, in place of those of the sources. */
export class OverriddenModels {
  readonly #models = new Map<string, OverriddenModel>();

  /** As they should be served. */
  get aspired(): readonly AspiredModel[] {
    return Array.from(this.#models.values(), ({ model }) => model);
  }

  names(): readonly string[] {
    return [...this.#models.keys()];
  }

  get(name: string): OverriddenModel | undefined {
    return this.#models.get(name);
  }

  /** Adds a model, or replaces one. */
  set(name: string, model: OverriddenModel): void {
    this.delete(name);
    this.#models.set(name, model);
  }

  /** Returns false if there is none. */
  delete(name: string): boolean {
    this.#models.get(name)?.remove();
    return this.#models.delete(name);
  }

  clear(): void {
    for (const name of this.names()) this.delete(name);
  }
}

/** The models that are served, as a platform changes them. */
interface PlatformServed {
  load(name: string, options: NamedModelOptions): Promise<void>;
  forget(name: string): Promise<void>;
}

/** The models that a platform loads from one folder. */
export class HostedFolders implements PlatformModels {
  readonly #folder: PlatformFolder;
  readonly #served: PlatformServed;
  /** By name, true once it is loaded. */
  readonly #models = new Map<string, boolean>();

  constructor(folder: PlatformFolder, served: PlatformServed) {
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
