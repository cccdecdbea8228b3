import { canShareThread, type StartModelOptions } from "../model-host/start-model.ts";
import type { Stage } from "./choose-stages.ts";
import { fingerprintOf } from "./folders/fingerprint.ts";

/** A stage and what its files say of its size. */
export interface SizedStage extends Stage {
  readonly fileBytes: number;
}

/** Memory of a thread with a runtime in it before any model is, as measured with ONNX Runtime. */
const THREAD_BYTES = 12 * 1024 * 1024;
/** Memory of a small model in a thread that it shares, beside its files, as measured with ONNX Runtime. */
const SMALL_MODEL_BYTES = 1024 * 1024;

/** Threads of a pipeline. */
interface Copies extends Pick<StartModelOptions, "instances" | "sharedThreads"> {
  /** Threads that run hooks; 0 = there are no hooks, or they run in the main thread. */
  readonly workers: number;
}

/** Sizes of the stages' files, each its model's only estimate before it is loaded. */
export function fileSizes(stages: readonly Stage[]): Promise<number[]> {
  return Promise.all(stages.map(async ({ path }) => (path === "" ? 0 : (await fingerprintOf(path)).bytes)));
}

/** The memory of a pipeline whose models have these sizes: each copy of each model, and the threads. */
export function memoryOf(stages: readonly SizedStage[], sizes: readonly number[], copies: Copies): number {
  const models = stages.map((stage, index) => {
    const size = sizes[index] ?? 0;
    if (stage.found.driver.placement === "inline") return size;
    if (canShareThread(stage, copies)) return size + SMALL_MODEL_BYTES;
    return copies.instances * (size + THREAD_BYTES);
  });
  return models.reduce((sum, bytes) => sum + bytes, copies.workers * THREAD_BYTES);
}
