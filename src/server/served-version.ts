import type { ErrorCode } from "../errors.ts";
import type { VersionState, VersionStatus } from "../serving/version-status.ts";

/** One version of a model, as a program sees it that embeds the server. */
export interface ServedVersion {
  readonly name: string;
  readonly version: bigint;
  readonly state: VersionState;
  /** The last failure, until a load succeeds. */
  readonly error?: { readonly code: ErrorCode; readonly message: string };
  /** Number of loads that succeeded. */
  readonly generation: number;
  readonly labels: readonly string[];
}

/** A version's status with what it is called. */
export function toServedVersion({
  model: name,
  version,
  state,
  error,
  generation,
  labels,
}: VersionStatus): ServedVersion {
  const failure = error && { error: { code: error.code, message: error.message } };
  return { name, version, state, ...failure, generation, labels };
}
