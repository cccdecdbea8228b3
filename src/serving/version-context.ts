import type { Logger } from "../observability/logger.ts";
import type { LoadPolicy } from "./load-policy.ts";
import type { ModelPlaces } from "./model-places.ts";

/** Components that the versions of a model share. */
export interface VersionContext<Version> {
  readonly policy: LoadPolicy;
  readonly places: ModelPlaces;
  /** Idle time after which it is unloaded, in milliseconds; 0 = never. */
  readonly idleUnloadMs: () => number;
  /** Reports if the files of a version were there at the last check. */
  readonly isPresent: (version: bigint) => boolean;
  readonly log: Logger;
  readonly change: (version: Version) => void;
}
