import { stat } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { failedPrecondition } from "../../errors.ts";

const EVERY_MS = 200;
/** Above the time in which a node pulls the image of a large model. */
const TIMEOUT_MS = 600_000;

/**
 * Waits for a model's folder that another container of the pod links in after it has started. Throws
 * `failed_precondition` where it does not come in time.
 */
export async function waitForModelcar(path: string, timeoutMs = TIMEOUT_MS): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await isThere(path))) {
    if (performance.now() >= endMs)
      throw failedPrecondition(
        `${path} is not there after ${timeoutMs / 1000} seconds; expected the folder of a modelcar (MODEL_INIT_MODE=async).`,
      );
    await setTimeout(EVERY_MS);
  }
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
