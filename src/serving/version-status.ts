import type { ServingError } from "../errors.ts";

/**
 * State of one version of a model, in TensorFlow Serving's words: START waits for its turn to load, AVAILABLE answers requests,
 * UNLOADING finishes those that it has, END is freed, or has failed.
 */
export type VersionState = "START" | "LOADING" | "AVAILABLE" | "UNLOADING" | "END";

/** One version of a model now. */
export interface VersionStatus {
  readonly model: string;
  readonly version: bigint;
  readonly state: VersionState;
  /**
   * The last failure, until a load succeeds. At END it is final; while LOADING it is tried again; a version that is AVAILABLE with an
   * error still answers with the files that it had before.
   */
  readonly error: ServingError | undefined;
  /** Number of loads that succeeded. */
  readonly generation: number;
  /** Labels that mean this version. */
  readonly labels: readonly string[];
}
