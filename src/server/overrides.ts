import { currentScope } from "../access/call-scope.ts";
import { invalidArgument } from "../errors.ts";
import type { AspiredModel } from "../serving/aspired-model.ts";
import type { LoadOverrides } from "../serving/load-overrides.ts";
import { assertModelName } from "../serving/model-name.ts";
import type { ModelConfig } from "../serving/repository/config/model-config.ts";
import type { LoadOptions } from "../serving/repository/load-servable.ts";
import type { readConfigOverride as ReadConfigOverride } from "../serving/repository/overrides/read-override.ts";
import { writeOverrideFiles } from "../serving/repository/overrides/write-files.ts";
import { aspireModel } from "../serving/repository/scan-model.ts";

/** A model that is served as a client has described it. */
export interface OverriddenModel {
  readonly model: AspiredModel;
  /** Removes the files that the client has given; what is loaded of them stays loaded. */
  remove(): void;
}

/** Prepares a model whose files a client gives too; throws `invalid_argument` for what cannot be taken. */
export async function overrideFiles(
  name: string,
  { config: json, files }: LoadOverrides,
  load: LoadOptions,
): Promise<OverriddenModel> {
  assertName(name);
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

/** Its reader is imported with the first configuration of a client. */
const readOverride = async (...given: Parameters<typeof ReadConfigOverride>) => {
  const { readConfigOverride } = await import("../serving/repository/overrides/read-override.ts");
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

  /** Returns false where there is none. */
  delete(name: string): boolean {
    this.#models.get(name)?.remove();
    return this.#models.delete(name);
  }

  clear(): void {
    for (const name of this.names()) this.delete(name);
  }
}
