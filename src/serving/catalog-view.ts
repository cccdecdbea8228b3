import type { ServingError } from "../errors.ts";
import type { ModelPlaces } from "./model-places.ts";
import type { RequestLogOptions } from "./request-log.ts";
import type { Servable } from "./servable.ts";
import type { Traffic } from "./traffic.ts";
import type { VersionStatus } from "./version-status.ts";

/** One version of a model, as requests, listings and routes see it. */
export interface CatalogVersion {
  readonly model: string;
  readonly version: bigint;
  /** Answers requests now; undefined while nothing does. */
  readonly servable: Servable | undefined;
  /** The places for requests of its model. */
  readonly places: ModelPlaces;
  /** The reason why its requests fail for want of a model that it needs. */
  readonly missing: ServingError | undefined;
  /** True when it should be loaded. */
  readonly isWanted: boolean;
  readonly status: Omit<VersionStatus, "labels">;
}

/** One named model, as requests, listings and routes see it; {@link CatalogVersion} says the same of a version. */
export interface CatalogModel {
  readonly name: string;
  /** The highest version that is available. */
  readonly current: CatalogVersion | undefined;
  /** Every listed version, highest first. */
  readonly versions: readonly CatalogVersion[];
  /** Labels with their versions. */
  readonly labels: ReadonlyMap<string, bigint>;
  /** Routing of the requests that name no version; undefined = to the highest version. */
  readonly traffic: Traffic | undefined;
  /** Files in which its requests are recorded; undefined = the server's setting. */
  readonly requestLog: RequestLogOptions | undefined;
  /** True while a version that should be served has neither been loaded nor failed. */
  readonly isLoading: boolean;
  /** A version, loaded or not. */
  find(version: bigint): CatalogVersion | undefined;
  /** The status of one of its versions. */
  statusOf(version: Pick<CatalogVersion, "version" | "status">): VersionStatus;
}
