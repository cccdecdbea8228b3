import type { ServingError } from "../errors.ts";

/**
 * State of one version of a model, in TensorFlow Serving's terms. START: waits for its turn to load. AVAILABLE: answers
 * requests. UNLOADING: finishes its last requests. END: is freed, or has failed.
 */
export type VersionState = "START" | "LOADING" | "AVAILABLE" | "UNLOADING" | "END";

/** The present status of one version of a model. */
export interface VersionStatus {
  readonly model: string;
  readonly version: bigint;
  readonly state: VersionState;
  /**
   * The last failure, until a load succeeds. At END it is final; while LOADING, the load is attempted again; a version
   * that is AVAILABLE with an error still answers with its former files.
   */
  readonly error: ServingError | undefined;
  /** Number of loads that succeeded. */
  readonly generation: number;
  /** Labels that mean this version. */
  readonly labels: readonly string[];
}
