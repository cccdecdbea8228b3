import type { Stage } from "./choose-stages.ts";
import { fingerprintOf } from "./folders/fingerprint.ts";

/** Memory of a thread with a runtime in it before any model is, as measured with ONNX Runtime. */
const THREAD_BYTES = 12 * 1024 * 1024;

/** Threads of a pipeline. */
interface Copies {
  readonly instances: number;
  /** Threads that run hooks; 0 = there are no hooks, or they run in the main thread. */
  readonly workers: number;
}

/** Sizes of the stages' files, each its model's only estimate before it is loaded. */
export function fileSizes(stages: readonly Stage[]): Promise<number[]> {
  return Promise.all(stages.map(async ({ path }) => (path === "" ? 0 : (await fingerprintOf(path)).bytes)));
}

/** The memory of a pipeline whose models have these sizes: each copy of each model, and the threads. */
export function memoryOf(stages: readonly Stage[], sizes: readonly number[], { instances, workers }: Copies): number {
  const models = stages.map(({ found: { driver } }, stage) => {
    const size = sizes[stage] ?? 0;
    return driver.placement === "inline" ? size : instances * (size + THREAD_BYTES);
  });
  return models.reduce((sum, bytes) => sum + bytes, workers * THREAD_BYTES);
}
