import type { CachedFolder } from "./cache/model-cache.ts";

/** Identity of the files at an address, without their content. */
export interface RemoteStamp {
  /** Changes with the files. */
  readonly text: string;
  /** Time of the last change of a file, in milliseconds since 1970; infinite if the server does not report it. */
  readonly changedMs: number;
}

/**
 * Models, hooks and configurations on other servers. All errors are `ServingError`s
 * that begin with the address, without secrets.
 */
export interface ModelStorage {
  /** Checks if the model at an address, or one in it, is in archives. */
  isArchive(address: string): Promise<boolean>;
  /**
   * A local file or folder with the same names in it as at the address; only descriptions of models have their content.
   * Throws `not_found` if there is nothing.
   */
  indexOf(address: string): Promise<string>;
  /** Identity of the files at an address; throws `not_found` if there is nothing. */
  stampOf(address: string): Promise<RemoteStamp>;
  /**
   * The files at an address on the local disk, downloaded if the cache does not have them: the path of the file, the
   * folder or what was in the archive. They stay until they are released.
   */
  fetch(address: string, signal: AbortSignal): Promise<CachedFolder>;
  /** The error with addresses in place of paths of the cache. */
  toAddresses(reason: unknown): unknown;
  /** Forgets what was listed, so that the servers are asked again. */
  expire(): void;
  /** Ends all downloads. */
  close(): void;
}
