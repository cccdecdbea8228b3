import type { ServingError } from "../errors.ts";
import type { QueueLimits } from "./model-places.ts";
import type { RequestLogOptions } from "./request-log.ts";
import type { Servable } from "./servable.ts";
import type { Traffic } from "./traffic.ts";

/** The versions of one model that should be served now; loaded versions that are missing here are unloaded. */
export interface AspiredModel extends QueueLimits {
  readonly name: string;
  /** Versions by label. */
  readonly labels?: Readonly<Record<string, bigint>>;
  /** Idle time after which a version is unloaded, in milliseconds; 0 = never, absent = the server's setting. */
  readonly idleUnloadMs?: number | undefined;
  /** True if only other models need it, so that it may be unloaded with them. */
  readonly isDependencyOnly?: boolean;
  /** Routing of the requests that name no version; absent = to the highest version. */
  readonly traffic?: Traffic | undefined;
  /** Files in which its requests are recorded; absent = the server's setting. */
  readonly requestLog?: RequestLogOptions | undefined;
  /** Versions whose files are there, of those that are or were chosen; absent = those that are. */
  readonly present?: readonly bigint[];
  /** The versions that the version policy chose, each number once. */
  readonly versions: readonly AspiredVersion[];
}

/** A version of a model that should be served. */
export interface AspiredVersion {
  readonly version: bigint;
  /** Changes when the version's files do. A new fingerprint loads the version again, at once if it had failed. */
  readonly fingerprint: string;
  /**
   * The fingerprint without the content of the hook file, if any. If only the hook file has changed, the loaded
   * version gets the new hooks.
   */
  readonly modelFingerprint?: string;
  /** Names of the models that its stages use; it is loaded once each of them is available. */
  readonly needs?: readonly string[];
  /** True if it names versions of those models, any of which may be the last to be loaded. */
  readonly needsVersions?: boolean;
  /**
   * The reason why it cannot be loaded, whenever that is attempted. Such a version is attempted once, until the
   * fingerprint changes.
   */
  readonly refusal?: ServingError;
  /**
   * Does what a load needs and what takes none of its threads or its time, such as
   * downloading; called before {@link load}.
   */
  readonly prepare?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /**
   * Loads the files as they are now. Rejects when the signal aborts, and frees what it has loaded as soon as possible.
   */
  load(signal: AbortSignal): Promise<Servable>;
}
