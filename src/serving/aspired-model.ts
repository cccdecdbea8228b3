import type { ServingError } from "../errors.ts";
import type { QueueLimits } from "./model-queue.ts";
import type { RequestLogOptions } from "./request-log.ts";
import type { Servable } from "./servable.ts";
import type { Traffic } from "./traffic.ts";

/** Everything that should be served under one name now; what is loaded and absent here is unloaded. */
export interface AspiredModel extends QueueLimits {
  readonly name: string;
  /** Versions by label. */
  readonly labels?: Readonly<Record<string, bigint>>;
  /** Milliseconds without a request after which a version's memory is given back; 0 = never, absent = as the server does. */
  readonly idleUnloadMs?: number | undefined;
  /** True where it was asked for only because others need it: it may go with them. */
  readonly isAlong?: boolean;
  /** Ways of the requests that name no version; absent = to the highest version. */
  readonly traffic?: Traffic | undefined;
  /** The files that its requests are recorded in; absent = as the server does. */
  readonly requestLog?: RequestLogOptions | undefined;
  /** Those that the version policy chose, each number once. */
  readonly versions: readonly AspiredVersion[];
}

/** A version of a model that should be served. */
export interface AspiredVersion {
  readonly version: bigint;
  /** Changes when the version's files do: another one loads the version again, at once where it had failed. */
  readonly fingerprint: string;
  /** The same without the content of its hook file, where it has one: where nothing else changes, new hooks take over in what is loaded. */
  readonly modelFingerprint?: string;
  /** Names of the models that its stages are; it is loaded once each of them is available. */
  readonly needs?: readonly string[];
  /** True where it names versions of those, any of which may be the last to be loaded. */
  readonly needsVersions?: boolean;
  /** The reason why it cannot be loaded, whenever that is tried: it is tried once, until the fingerprint changes. */
  readonly refusal?: ServingError;
  /** Loads the files as they are now; rejects when the signal aborts, and frees what it has loaded as soon as that is possible. */
  load(signal: AbortSignal): Promise<Servable>;
}
