import { realpathSync } from "node:fs";
import { failedPrecondition } from "../../../errors.ts";
import { claimForProcess } from "../../../native/process-environment.ts";

/**
 * Throws `failed_precondition` where the process has another libtensorflow than this file: the loader would give one
 * version's library the other's parts.
 */
export function checkOnlyTensorflow(path: string): void {
  const file = realpathSync(path);
  const loaded = claimForProcess("KSERVING_TENSORFLOW_LOADED", file);
  if (loaded === file) return;
  throw failedPrecondition(
    `"${file}" cannot be used together with "${loaded}", which an earlier model has loaded: a process takes one TensorFlow.`,
  );
}
