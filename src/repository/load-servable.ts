import type { Driver } from "../drivers/driver.ts";
import type { RawOptions } from "../drivers/option-table.ts";
import { detectDriver, findDriver } from "../drivers/registry.ts";
import { ServingError } from "../errors.ts";
import { type HookSet, toHooks, validateHooks } from "../hooks/hook-set.ts";
import type { Hooks } from "../hooks/hooks.ts";
import type { ModelHandle } from "../model-host/model-handle.ts";
import { loadModel } from "../model-host/model-host.ts";
import type { Logger } from "../observability/logger.ts";
import { Pipeline } from "../pipeline/pipeline.ts";
import type { RemoteClient } from "../pipeline/remote.ts";
import { startHooks } from "../pipeline/start-hooks.ts";
import { createServable, type Servable } from "../serving/servable.ts";
import { importUserModule } from "../user-module.ts";
import { checkOptionKeys } from "./stage-options.ts";

/** One stage as a user names it. */
export interface ModelOptions {
  /** A driver's name or the path of a user's own; left out = told by the path. */
  readonly driver?: string;
  /** A file or folder; left out for drivers that need none. */
  readonly path?: string;
  /** `-o` options for this stage alone; they win over the shared ones. */
  readonly options?: RawOptions;
}

/** A pipeline as a user describes it. */
export interface ServableSource {
  readonly name: string;
  readonly version: bigint;
  readonly models: readonly ModelOptions[];
  /** A hook file's path, or hooks as they are. */
  readonly hooks?: string | Hooks;
  /** `-o` options for all drivers and the hooks. */
  readonly options: RawOptions;
}

/** A servable with its models, for the start table. */
export interface LoadedServable {
  readonly servable: Servable;
  readonly models: readonly ModelHandle[];
}

/** What loading needs from its surroundings. */
export interface LoadSurroundings {
  readonly remote: RemoteClient;
  readonly log: Logger;
}

/** Checks and loads hooks and models, hooks first since they cost nothing; on failure frees what was loaded. */
export async function loadServable(source: ServableSource, { remote, log }: LoadSurroundings): Promise<LoadedServable> {
  const stages = await Promise.all(source.models.map(chooseStage));
  const hooks = await loadHooks(source.hooks, stages.length);
  checkOptionKeys(source.options, stages, hooks, log);
  const models = await loadModels(stages, source.options, log);
  const close = () => Promise.all(models.map((model) => model.close()));
  try {
    const started = await startHooks(hooks, { models, params: initParams(source), log, findDriver });
    const { globalCtx } = started;
    const pipeline = new Pipeline({ models, ...(hooks && { hooks }), globalCtx, remote, log });
    const servable = createServable(source, pipeline, async () => {
      await started.close();
      await close();
    });
    return { servable, models };
  } catch (reason) {
    await close();
    throw reason;
  }
}

interface Stage {
  readonly driver: Driver;
  readonly path: string;
  readonly options: RawOptions;
}

async function chooseStage({ driver: name, path = "", options = {} }: ModelOptions): Promise<Stage> {
  const driver = name === undefined ? await detectDriver(path) : await findDriver(name);
  if (path === "" && !driver.pathless) {
    throw new ServingError(
      "invalid_argument",
      `The ${driver.name} driver needs a model; expected --model-path PATH with it.`,
    );
  }
  return { driver, path, options };
}

async function loadHooks(hooks: string | Hooks | undefined, stageCount: number): Promise<HookSet | undefined> {
  if (hooks === undefined) return undefined;
  if (typeof hooks !== "string") return validateHooks(hooks, stageCount, "The hooks object");
  return validateHooks(toHooks(await importUserModule(hooks), hooks), stageCount, hooks);
}

/** Loads one after the other: each runtime takes all cores while it loads. */
async function loadModels(stages: readonly Stage[], shared: RawOptions, log: Logger): Promise<ModelHandle[]> {
  const models: ModelHandle[] = [];
  try {
    for (const { driver, path, options } of stages) {
      models.push(await loadModel({ driver, path, options: { ...shared, ...options } }, log));
    }
    return models;
  } catch (reason) {
    await Promise.all(models.map((model) => model.close()));
    throw reason;
  }
}

/** Every `-o` option as text, a stage's own as `2:key`, and the paths. */
function initParams({ models, options }: ServableSource) {
  const scoped = models.flatMap(({ options: own = {} }, index) =>
    Object.entries(own).map(([key, value]) => [`${index + 1}:${key}`, value]),
  );
  const paths = models.map(({ path = "" }) => path);
  return { ...options, ...Object.fromEntries(scoped), model_path: paths[0] ?? "", model_paths: paths };
}
