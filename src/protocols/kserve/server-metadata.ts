import { readVersion } from "../../version.ts";

/** Content of ServerMetadata and `GET /v2`. */
export interface ServerMetadata {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
}

/** The supported extensions of the protocol, by Triton's names. */
const EXTENSIONS: readonly string[] = [
  "classification",
  "model_repository",
  "model_repository(unload_dependents)",
  "schedule_policy",
  "model_configuration",
  "binary_tensor_data",
  "parameters",
  "statistics",
  "logging",
];

/** Name and version of this server, and the extensions of KServe V2 that it has. */
export function serverMetadata(hasSharedMemory: boolean): ServerMetadata {
  const extensions = hasSharedMemory ? [...EXTENSIONS, "system_shared_memory"] : EXTENSIONS;
  return { name: "kserving", version: readVersion(), extensions };
}
