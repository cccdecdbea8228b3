import type { RawOptions } from "../../drivers/option-table.ts";
import { failedPrecondition } from "../../errors.ts";
import { type HookSet, toHooks, validateHooks } from "../../hooks/hook-set.ts";
import type { AnyHooks, InitParams } from "../../hooks/hooks.ts";
import type { ClaimEntries, HookGeneration, HookThreadChoices } from "../../hooks/host/hook-generation.ts";
import { HookPool } from "../../hooks/host/hook-pool.ts";
import type { DeclaredHooks } from "../../hooks/host/hook-protocol.ts";
import { installPackages, PACKAGE_OPTIONS } from "../../hooks/host/install-packages.ts";
import { openGeneration } from "../../hooks/host/open-generation.ts";
import { OtherModels } from "../../hooks/host/other-models.ts";
import { isPythonFile, PYTHON_HOOK_OPTIONS } from "../../hooks/host/python/copy-python-hooks.ts";
import { type LoadMore, type StartParts, startHooks } from "../../hooks/host/start-hooks.ts";
import { LOAD_DOUBT, withinStartLimit } from "../../hooks/start-limit.ts";
import type { ModelHandle } from "../../models/model-handle.ts";
import type { Logger } from "../../observability/logger.ts";
import { hookFacts } from "../../pipeline/hook-places.ts";
import { HookClock } from "../../pipeline/hook-times.ts";
import type { ServedVersion } from "../../pipeline/infer-request.ts";
import { cutLargeJson, isLargeJson } from "../../pipeline/json-jobs.ts";
import { Pipeline, type PipelineParts } from "../../pipeline/pipeline.ts";
import type { RemoteClient } from "../../pipeline/remote.ts";
import type { PipelineRunner } from "../../pipeline/runner.ts";
import { importUserModule } from "../../platform/user-module/user-module.ts";
import type { HostedModels } from "./hosted-models.ts";

/** Settings of hooks. */
export interface HookOptions {
  /** Hook threads; 0 = hooks run in the main thread, as hook sets always do. */
  readonly workers: number;
  readonly thread: Omit<HookThreadChoices, "file" | "stageCount" | "logged" | "options">;
  /** Calls to other servers, for hooks in the main thread. */
  readonly remote: RemoteClient;
  /** Reserves the HTTP routes that the hooks declare. */
  readonly claim?: ClaimEntries | undefined;
  /** Ends the threads that have not started yet. */
  readonly signal?: AbortSignal | undefined;
  readonly log: Logger;
}

/** Hooks that are imported and checked, before any model is loaded. */
export interface PreparedHooks {
  /** Their declarations; undefined = there are no hooks. */
  readonly declared: DeclaredHooks | undefined;
  /** True if they run in this thread, in which they share the tensors of requests and answers. */
  readonly shareTensors: boolean;
  /** Runs init_hook; resolves once requests can be run. */
  start(models: HostedModels, params: InitParams): Promise<PipelineRunner>;
  /** Frees what was compiled or started, even if {@link start} was never called. */
  dispose(): Promise<void>;
}

/** A pipeline's hooks, and what they are checked against. */
export interface HookSource {
  readonly name: string;
  readonly version: bigint;
  /** A hook file's path, or a hook set. */
  readonly hooks?: string | AnyHooks | undefined;
  readonly stages: readonly unknown[];
  /** `-o` options for all drivers and the hooks. */
  readonly options: RawOptions;
}

/**
 * Imports and checks hooks where they will run; throws `failed_precondition` for hooks
 * that do not fit the number of models.
 */
export async function prepareHooks(
  { name: model, version, hooks, stages, options: own }: HookSource,
  options: HookOptions,
): Promise<PreparedHooks> {
  const stageCount = stages.length;
  const served = { model, version };
  if (hooks === undefined) return prepareHere({ hooks, file: "", served }, options);
  if (typeof hooks !== "string") {
    const name = "The hooks object";
    return prepareHere({ hooks: validateHooks(hooks, stageCount, name), file: name, served }, options);
  }
  if (options.workers > 0) return prepareThreads({ file: hooks, stageCount, options: own }, served, options);
  if (isPythonFile(hooks))
    throw failedPrecondition(
      `${hooks} is Python, which runs in processes of its own, not in the main thread; expected --workers 1 or more.`,
    );
  await installPackages({ file: hooks, options: own }, options.log);
  const imported = toHooks(await importHere(hooks, options), hooks);
  const prepared = prepareHere({ hooks: validateHooks(imported, stageCount, hooks), file: hooks, served }, options);
  return { ...prepared, declared: { ...prepared.declared, hostOptions: PACKAGE_OPTIONS } };
}

function importHere(file: string, { thread, log }: HookOptions): Promise<Readonly<Record<string, unknown>>> {
  const { hookTimeoutMs } = thread;
  return importUserModule(file, (importing) =>
    withinStartLimit(importing, `${file} has not been loaded`, { hookTimeoutMs, log, doubt: LOAD_DOUBT }),
  );
}

/** Hooks that run in this thread, the file that messages name, and the version that they are for. */
interface HooksHere {
  readonly hooks: HookSet | undefined;
  readonly file: string;
  readonly served: ServedVersion;
}

function prepareHere({ hooks, file, served }: HooksHere, options: HookOptions): PreparedHooks {
  const { remote, log, thread, claim } = options;
  const { hookTimeoutMs } = thread;
  const release = hooks?.entries && claim?.([...hooks.entries.keys()]);
  return {
    declared: hooks && (hooks.options === undefined ? {} : { options: hooks.options }),
    shareTensors: hooks !== undefined,
    start: (models, params) => {
      const loadMore: LoadMore = (driver, path, raw) => models.loadHere(driver, path, raw);
      const handles: readonly ModelHandle[] = models.handles;
      const parts = { served, models: handles, ...(hooks && { hooks }), remote, log, hookTimeoutMs };
      return startLocalRunner(parts, { params, loadMore, file });
    },
    dispose: async () => release?.(),
  };
}

async function prepareThreads(
  own: Pick<HookThreadChoices, "file" | "stageCount" | "options">,
  served: ServedVersion,
  options: HookOptions,
): Promise<PreparedHooks> {
  const { workers, thread, log, claim, signal } = options;
  const choices = { ...thread, ...own, logged: log.filter?.shared ?? log.level };
  const open = (ended?: AbortSignal) => openGeneration(choices, { log, claim }, ended);
  const generation = await open(signal);
  return {
    declared: {
      ...generation.declared,
      hostOptions: isPythonFile(own.file) ? PYTHON_HOOK_OPTIONS : PACKAGE_OPTIONS,
    },
    shareTensors: false,
    start: async (provider, params) => {
      const pool = new HookPool({ generation, open, workers, provider, params, served });
      await startUntilAborted(pool, generation, signal);
      return pool;
    },
    dispose: () => generation.dispose(),
  };
}

/** An init_hook that never returns would keep its thread for the limit of its start. */
async function startUntilAborted(pool: HookPool, generation: HookGeneration, signal?: AbortSignal): Promise<void> {
  const end = () => void generation.dispose();
  signal?.addEventListener("abort", end);
  try {
    signal?.throwIfAborted();
    await pool.start();
  } finally {
    signal?.removeEventListener("abort", end);
  }
}

/** Runs a pipeline in this thread: one without hooks, or with hooks that are debugged or embedded. */
async function startLocalRunner(
  parts: Omit<PipelineParts, "globalCtx" | "findOther">,
  start: Omit<StartParts, "models" | "log" | "hookTimeoutMs">,
): Promise<PipelineRunner> {
  const { models, hooks, log, hookTimeoutMs = 0 } = parts;
  const started = await startHooks(hooks, { ...start, models, log, hookTimeoutMs });
  const others = new OtherModels(start.loadMore);
  const findOther = others.find.bind(others);
  const clock = hooks && new HookClock(models.length);
  const pipeline = new Pipeline({ ...parts, globalCtx: started.globalCtx, findOther, ...(clock && { clock }) });
  let open = true;
  return {
    signatures: pipeline.signatures,
    ...(hooks && { hooks: hookFacts(hooks) }),
    run: async (request) =>
      pipeline.run(hooks !== undefined && isLargeJson(request) ? await cutLargeJson(request) : request),
    isReady: () => open,
    ...(clock && { hookTimes: () => clock.read() }),
    close: async () => {
      open = false;
      await pipeline.close();
      await started.close();
      await others.close();
    },
  };
}
