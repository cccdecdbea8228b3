import { setEnvironmentDefault } from "../../../native/process-environment.ts";

/**
 * Lets libtensorflow print errors only, unless the user has said otherwise: what matters of the rest is in the server's
 * log. It is read when the library is loaded.
 */
export function quietTensorflow(): void {
  setEnvironmentDefault("TF_CPP_MIN_LOG_LEVEL", "2");
}
