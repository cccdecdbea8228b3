import { realpathSync } from "node:fs";
import { failedPrecondition } from "../../../errors.ts";
import { claimForProcess, setEnvironmentDefault } from "../../../platform/native/process-environment.ts";

/**
 * Lets libtensorflow print errors only, unless the user has said otherwise: what matters of the rest is in the server's
 * log. It is read when the library is loaded.
 */
export function quietTensorflow(): void {
  setEnvironmentDefault("TF_CPP_MIN_LOG_LEVEL", "2");
}

/**
 * Throws `failed_precondition` if the process has another libtensorflow than this file: the loader would give one
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
