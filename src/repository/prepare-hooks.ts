import type { ClaimEntries, HookThreadChoices } from "../hook-host/hook-generation.ts";
import { HookPool } from "../hook-host/hook-pool.ts";
import type { DeclaredHooks } from "../hook-host/hook-protocol.ts";
import { startLocalRunner } from "../hook-host/local-runner.ts";
import { openGeneration } from "../hook-host/open-generation.ts";
import type { LoadMore } from "../hook-host/start-hooks.ts";
import { type HookSet, toHooks, validateHooks } from "../hooks/hook-set.ts";
import type { Hooks, InitParams } from "../hooks/hooks.ts";
import { withinStartLimit } from "../hooks/start-limit.ts";
import type { ModelHandle } from "../model-host/model-handle.ts";
import type { Logger } from "../observability/logger.ts";
import type { RemoteClient } from "../pipeline/remote.ts";
import type { PipelineRunner } from "../pipeline/runner.ts";
import { importUserModule } from "../user-module/user-module.ts";
import type { HostedModels } from "./hosted-models.ts";

/** Settings of hooks. */
export interface HookOptions {
  /** Hook threads; 0 = hooks run in the main thread, as hook sets always do. */
  readonly workers: number;
  readonly thread: Omit<HookThreadChoices, "file" | "stageCount" | "logged">;
  /** Calls to other servers, for hooks in the main thread. */
  readonly remote: RemoteClient;
  /** Reserves the HTTP routes that the hooks declare. */
  readonly claim?: ClaimEntries | undefined;
  readonly log: Logger;
}

/** Hooks that are imported and checked, before any model is loaded. */
export interface PreparedHooks {
  /** Their declarations; undefined = there are no hooks. */
  readonly declared: DeclaredHooks | undefined;
  /** True where they run in this thread, where they share the tensors of requests and answers. */
  readonly shareTensors: boolean;
  /** Runs init_hook; resolves once requests can be run. */
  start(models: HostedModels, params: InitParams): Promise<PipelineRunner>;
  /** Frees what was compiled or started, even if {@link start} was never called. */
  dispose(): Promise<void>;
}

/** Imports and checks hooks where they will run; throws `failed_precondition` for hooks that do not fit the number of models. */
export async function prepareHooks(
  hooks: string | Hooks | undefined,
  stageCount: number,
  options: HookOptions,
): Promise<PreparedHooks> {
  if (hooks === undefined) return prepareHere(undefined, "", options);
  if (typeof hooks !== "string") {
    const name = "The hooks object";
    return prepareHere(validateHooks(hooks, stageCount, name), name, options);
  }
  if (options.workers > 0) return prepareThreads(hooks, stageCount, options);
  return prepareHere(
    validateHooks(toHooks(await importHere(hooks, options), hooks), stageCount, hooks),
    hooks,
    options,
  );
}

function importHere(file: string, { thread, log }: HookOptions): Promise<Readonly<Record<string, unknown>>> {
  const { hookTimeoutMs } = thread;
  return importUserModule(file, (importing) =>
    withinStartLimit(importing, `${file} has not been loaded`, { hookTimeoutMs, log }),
  );
}

function prepareHere(hooks: HookSet | undefined, file: string, options: HookOptions): PreparedHooks {
  const { remote, log, thread, claim } = options;
  const { hookTimeoutMs } = thread;
  const release = hooks?.entries && claim?.([...hooks.entries.keys()]);
  return {
    declared: hooks && (hooks.options === undefined ? {} : { options: hooks.options }),
    shareTensors: hooks !== undefined,
    start: (models, params) => {
      const loadMore: LoadMore = (driver, path, raw) => models.loadHere(driver, path, raw);
      const handles: readonly ModelHandle[] = models.handles;
      const parts = { models: handles, ...(hooks && { hooks }), remote, log, hookTimeoutMs };
      return startLocalRunner(parts, { params, loadMore, file });
    },
    dispose: async () => release?.(),
  };
}

async function prepareThreads(file: string, stageCount: number, options: HookOptions): Promise<PreparedHooks> {
  const { workers, thread, log, claim } = options;
  const choices = { ...thread, file, stageCount, logged: log.filter?.shared ?? log.level };
  const open = (signal?: AbortSignal) => openGeneration(choices, { log, claim }, signal);
  const generation = await open();
  return {
    declared: generation.declared,
    shareTensors: false,
    start: async (provider, params) => {
      const pool = new HookPool({ generation, open, workers, provider, params });
      await pool.start();
      return pool;
    },
    dispose: () => generation.dispose(),
  };
}
