import type { Logger } from "../observability/logger.ts";
import type { LoadingSettings } from "../platform/limits/settings/server-settings.ts";
import type { Executor } from "./executor.ts";
import type { ModelPlaces } from "./model-places.ts";
import type { NeededModels } from "./needed-models.ts";
import type { Use } from "./plan/residence.ts";

/** Components that the versions of all models share. */
export interface LoadPolicy {
  /** Loads versions, unloads idle copies, and loads them again. */
  readonly executor: Executor;
  /** The models that stages name. */
  readonly needed: NeededModels;
  readonly loading: LoadingSettings;
}

/** Components that the versions of a model share. */
export interface VersionContext<Version> {
  readonly policy: LoadPolicy;
  readonly places: ModelPlaces;
  /** The part of the use of a version's copies that is said of all, or of its files. */
  readonly use: (version: bigint) => Pick<Use, "idleMs" | "isPresent">;
  readonly log: Logger;
  /** To be called with true if its status is another one, and with false if it only has nothing left to do. */
  readonly change: (version: Version, isNews: boolean) => void;
}
