import { canShareThread, type StartModelOptions } from "../model-host/model-to-load.ts";
import type { Stage } from "./choose-stages.ts";
import { fingerprintOf } from "./folders/fingerprint.ts";

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
    const { placement, isIsolated = false } = stage.found.driver;
    if (copies.isolate && !isIsolated) return copies.instances * (size + PROCESS_BYTES);
    if (placement === "inline") return size;
    if (canShareThread(stage, copies)) return size + SMALL_MODEL_BYTES;
    return copies.instances * (size + THREAD_BYTES);
  });
  return models.reduce((sum, bytes) => sum + bytes, copies.workers * THREAD_BYTES);
}
