import { dirname, resolve } from "node:path";
import type { RawOptions } from "../../drivers/option-table.ts";
import type { AnyHooks, InitParams } from "../../hooks/hooks.ts";
import type { ModelFacts } from "../../models/model-facts.ts";
import type { ModelHost } from "../../models/model-host.ts";
import { startModel } from "../../models/start-model.ts";
import { withoutAutoTexts } from "../../models/texts/text-options.ts";
import type { PipelineRunner } from "../../pipeline/runner.ts";
import type { ModelStorage } from "../../storage/model-storage.ts";
import type { TensorFacts } from "../../tensor/signature/describe-tensors.ts";
import type { RouteClaims } from "../hook-routes.ts";
import type { ModelMemory } from "../model-memory.ts";
import { createServable, type Servable } from "../servable.ts";
import type { ConfiguredFacts } from "../servable-description.ts";
import type { ArchiveHooks } from "./archive-hooks.ts";
import { checkOptionKeys, chooseStages } from "./choose-stages.ts";
import { CleanupStack, fetchSource } from "./fetch-source.ts";
import { hostStage } from "./host-served.ts";
import { HostedModels, type HostedModelsOptions } from "./hosted-models.ts";
import { type HookOptions, prepareHooks } from "./prepare-hooks.ts";
import { type Copies, fileSizes, reserveMemory, type SizedStage } from "./reserve-memory.ts";
import type { StageOptions } from "./stage.ts";
import { WarmUp, type WarmUpParts } from "./warm-up/warm-up.ts";
import type { WarmUpEntry } from "./warm-up/warm-up-entry.ts";

/** A pipeline as a user describes it. */
export interface ServableSource {
  readonly name: string;
  readonly version: bigint;
  readonly stages: readonly StageOptions[];
  /** A hook file's path, or a hook set. */
  readonly hooks?: string | AnyHooks;
  /** `-o` options for all drivers and the hooks. */
  readonly options: RawOptions;
  /** Requests to run before clients' requests are admitted, in addition to those in a SavedModel. */
  readonly warmUp?: readonly WarmUpEntry[] | undefined;
  /** Facts about its inputs and outputs, which count before those that its models and hooks tell. */
  readonly tensorFacts?: TensorFacts;
  /** The model's configuration, if there is one. */
  readonly configured?: ConfiguredFacts;
}

/** A servable and facts about its models. */
export interface LoadedServable {
  readonly servable: Servable;
  readonly models: readonly ModelFacts[];
}

/** Settings of hooks and models. */
export type LoadOptions = HostedModelsOptions &
  HookOptions & {
    /** The memory of all models, of which this one reserves a share. */
    readonly memory: ModelMemory;
    /** The reader of addresses; absent = only local paths can be loaded. */
    readonly storage?: ModelStorage | undefined;
    /** Ends the loading before its next step. */
    readonly signal?: AbortSignal;
    /** The `-o` keys that were given for all models of the server. */
    readonly keysForAll?: readonly string[];
    /** Batches a version as the file in its folder says. Default false. */
    readonly versionBatching?: boolean;
    /** Runs hook files of downloaded models. Default `own`. */
    readonly archiveHooks?: ArchiveHooks;
    /** Keeps two models from declaring one HTTP route. */
    readonly routes?: RouteClaims;
  };

/**
 * Checks and loads hooks and models, hooks first since they load quickly; on failure
 * frees the loaded ones, and runs the cleanup.
 */
export async function loadServable(
  given: ServableSource,
  options: LoadOptions,
  cleanup = new CleanupStack(),
): Promise<LoadedServable> {
  try {
    const source = await fetchSource(given, options, cleanup);
    const stages = await chooseStages(source.stages, cleanup);
    const claim = (entries: readonly string[]) => options.routes?.claim(source.name, entries) ?? (() => {});
    const hooks = await prepareHooks(source, { ...options, claim });
    cleanup.add(() => hooks.dispose());
    await checkOptionKeys(source.options, stages, hooks.declared, options);
    const sizes = await fileSizes(stages);
    const sized = stages.map((stage, index) => ({ ...stage, fileBytes: sizes[index] ?? 0 }));
    const { memory, signal } = options;
    const what = `Version ${source.version} of the model ${source.name}`;
    const reserved = await reserveMemory(sized, { what, copies: copiesOf(source, options), memory, signal });
    cleanup.add(async () => reserved.release());
    const hosts = await startModels(sized, source, options, cleanup);
    const needed = hosts.filter((_, index) => source.stages[index]?.model !== undefined);
    signal?.throwIfAborted();
    const warmUp = createWarmUp(source, options);
    await warmUp.models(hosts.filter((host) => !needed.includes(host)));
    const runner = await hooks.start(new HostedModels(hosts, options, hookFolderOf(source)), initParams(source));
    cleanup.add(() => runner.close());
    await warmUp.pipeline(runner);
    warmUp.end();
    warmUpThreads(source, options, { hosts, runner });
    const models = hosts.map(({ facts }) => facts);
    const memoryBytes = await reserved.loaded(models);
    return {
      servable: createServable(source, {
        runner,
        hooksShareTensors: hooks.shareTensors,
        hasHooks: source.hooks !== undefined,
        hosts,
        needed,
        memoryBytes,
        close: () => cleanup.run(),
      }),
      models,
    };
  } catch (reason) {
    await cleanup.run();
    throw options.storage?.toAddresses(reason) ?? reason;
  }
}

function copiesOf(
  { hooks }: ServableSource,
  { instances, isolate = false, sharedThreads, workers }: LoadOptions,
): Copies {
  const hookThreads = typeof hooks === "string" ? workers : 0;
  return { instances, isolate, workers: hookThreads, ...(sharedThreads !== undefined && { sharedThreads }) };
}

/** Loads one after the other: each runtime uses all cores while it loads. */
async function startModels(
  stages: readonly SizedStage[],
  source: ServableSource,
  options: LoadOptions,
  cleanup: CleanupStack,
): Promise<ModelHost[]> {
  const hookFolder = hookFolderOf(source);
  const hosts: ModelHost[] = [];
  const isPlain = source.stages.length === 1 && source.hooks === undefined && source.configured === undefined;
  for (const [index, { model, version }] of source.stages.entries()) {
    options.signal?.throwIfAborted();
    const stage = stages.find(({ number }) => number === index + 1);
    const host =
      stage === undefined ? await hostStage(options.own, { model: model ?? "", version }) : await start(stage);
    cleanup.add(() => host.close());
    hosts.push(host);
  }
  return hosts;

  function start({ found, path, options: own, fileBytes }: SizedStage): Promise<ModelHost> {
    const given = { ...source.options, ...own };
    return startModel(
      { found, path, name: source.name, options: isPlain ? given : withoutAutoTexts(given), hookFolder, fileBytes },
      options,
    );
  }
}

/** Hook sets have no folder. */
function hookFolderOf({ hooks }: ServableSource): string | undefined {
  return typeof hooks === "string" ? dirname(resolve(hooks)) : undefined;
}

/** Every `-o` option as text, those of a stage as `2:key`, and the paths. */
function initParams({ stages, options }: ServableSource): InitParams {
  const scoped = stages.flatMap(({ options: own = {} }, index) =>
    Object.entries(own).map(([key, value]) => [`${index + 1}:${key}`, value]),
  );
  const paths = stages.map(({ path = "" }) => path);
  return { ...options, ...Object.fromEntries(scoped), model_path: paths[0] ?? "", model_paths: paths };
}

/** The pipeline that is warmed up. */
interface WarmedSource extends Pick<WarmUpParts, "name" | "version"> {
  readonly hooks?: string | AnyHooks;
  readonly warmUp?: readonly WarmUpEntry[] | undefined;
}

type WarmUpOptions = Omit<WarmUpParts, "name" | "version" | "entries">;

/** Creates the warm-up of a pipeline. Hook sets run in this thread only. */
function createWarmUp(
  { name, version, hooks, warmUp: entries = [] }: WarmedSource,
  { instances, workers, recorded, savedModelWarmup, signal, log }: WarmUpOptions,
): WarmUp {
  const threads = typeof hooks === "string" ? workers : 1;
  return new WarmUp({ name, version, entries, instances, workers: threads, recorded, savedModelWarmup, signal, log });
}

/** Has threads that replace others later warmed up too, when the load's own signal does not count any more. */
function warmUpThreads(
  source: WarmedSource,
  options: WarmUpOptions,
  { hosts, runner }: { readonly hosts: readonly ModelHost[]; readonly runner: PipelineRunner },
): void {
  const isAlone = hosts.length === 1 && source.hooks === undefined;
  const warm = async (run: (warmUp: WarmUp) => Promise<void>) => {
    const warmUp = createWarmUp(source, { ...options, signal: undefined, instances: 1, workers: 1 });
    await run(warmUp);
    warmUp.end();
  };
  for (const [stage, host] of hosts.entries())
    host.warmUpThreads?.((copy) => warm((warmUp) => warmUp.copy(copy, stage, isAlone)));
  runner.warmUpThreads?.((thread) => warm((warmUp) => warmUp.pipeline(thread)));
}
