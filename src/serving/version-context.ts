import type { Logger } from "../observability/logger.ts";
import type { LoadPolicy } from "./load-policy.ts";
import type { ModelQueue } from "./model-queue.ts";

/** Components that the versions of a model share. */
export interface VersionContext<Version> {
  readonly policy: LoadPolicy;
  readonly queue: ModelQueue;
  /** Idle time after which it is unloaded, in milliseconds; 0 = never. */
  readonly idleUnloadMs: () => number;
  readonly log: Logger;
  readonly change: (version: Version) => void;
}
