import type { ModelFacts } from "../../models/model-facts.ts";
import { canShareThread, runsInline, type StartModelOptions } from "../../models/model-to-load.ts";
import type { MemoryShare, ModelMemory } from "../model-memory.ts";
import type { Stage } from "./choose-stages.ts";
import { fingerprintOf } from "./folders/fingerprint.ts";

/** A pipeline that is about to be loaded. */
interface ReserveOptions {
  /** Its name in messages. */
  readonly what: string;
  readonly copies: Copies;
  readonly memory: ModelMemory;
  /** Ends the wait. */
  readonly signal: AbortSignal | undefined;
}

/** Memory that is reserved for a pipeline. */
interface Reserved extends Pick<MemoryShare, "release"> {
  /** To be called with the models once they are loaded; resolves with their memory and their threads'. */
  loaded(models: readonly ModelFacts[]): Promise<number>;
}

/** Waits until there is room for a pipeline; throws if there never will be. */
export async function reserveMemory(
  stages: readonly SizedStage[],
  { what, copies, memory, signal }: ReserveOptions,
): Promise<Reserved> {
  const sizes = stages.map(({ fileBytes }) => fileBytes);
  const share = await memory.reserve({ what, bytes: memoryOf(stages, sizes, copies), signal });
  return {
    release: share.release,
    loaded: async (models) => {
      const measured = stages.map(({ number }, index) => models[number - 1]?.memoryBytes ?? sizes[index] ?? 0);
      // The memory of other processes is not part of this process's.
      const isEstimate = models.every(({ memoryBytes }) => memoryBytes === undefined);
      const runtimes = models.map(({ driver }) => driver);
      return share.loaded(memoryOf(stages, measured, copies), isEstimate ? runtimes : undefined);
    },
  };
}

/** A stage and the size of its files. */
export interface SizedStage extends Stage {
  readonly fileBytes: number;
}

/** Memory of a thread with a runtime but without a model, as measured with ONNX Runtime. */
const THREAD_BYTES = 12 * 1024 * 1024;
/** Memory of a Node.js process with a runtime but without a model, likewise. */
const PROCESS_BYTES = 48 * 1024 * 1024;
/** Memory of a small model in a shared thread, in addition to its files, as measured with ONNX Runtime. */
const SMALL_MODEL_BYTES = 1024 * 1024;

/** The threads of a pipeline. */
export interface Copies extends Pick<StartModelOptions, "instances" | "sharedThreads" | "isolate"> {
  /** Threads that run hooks; 0 = there are no hooks, or they run in the main thread. */
  readonly workers: number;
}

/** Sizes of the stages' files, the only estimate before a model is loaded. */
export function fileSizes(stages: readonly Stage[]): Promise<number[]> {
  return Promise.all(stages.map(async ({ path }) => (path === "" ? 0 : (await fingerprintOf(path)).bytes)));
}

/** The memory of a pipeline with models of these sizes: of each copy of each model, and of the threads. */
export function memoryOf(stages: readonly SizedStage[], sizes: readonly number[], copies: Copies): number {
  const models = stages.map((stage, index) => {
    const size = sizes[index] ?? 0;
    const { isIsolated = false } = stage.found.driver;
    if (copies.isolate && !isIsolated) return copies.instances * (size + PROCESS_BYTES);
    if (runsInline(stage)) return size;
    if (canShareThread(stage, copies)) return size + SMALL_MODEL_BYTES;
    return copies.instances * (size + THREAD_BYTES);
  });
  return models.reduce((sum, bytes) => sum + bytes, copies.workers * THREAD_BYTES);
}
