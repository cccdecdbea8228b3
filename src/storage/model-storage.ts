import { reasonText, ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import { CachedNames } from "./cache/cached-names.ts";
import { type CachedFolder, ModelCache, type ModelCacheOptions } from "./cache/model-cache.ts";
import { fetchFiles } from "./fetch-files.ts";
import { fingerprintFiles } from "./fingerprint-files.ts";
import { IndexFolders } from "./index-folders.ts";
import { Listings } from "./listings.ts";
import { type FoundFiles, findFiles } from "./objects/find-files.ts";
import { openAddress } from "./open-address.ts";
import { isArchiveName } from "./unpack/unpack-archive.ts";

/** Settings of remote models. */
export interface ModelStorageOptions extends ModelCacheOptions {
  /** Time between two lists of the same address, in milliseconds; 0 = one, until {@link ModelStorage.expire}. */
  readonly pollMs: number;
  /** Checks by its name below an address if a file describes models, and is read before they are chosen. */
  readonly describes: (name: string) => boolean;
  readonly log: Logger;
}

/** Identity of the files at an address, without their content. */
export interface RemoteStamp {
  /** Changes with the files. */
  readonly text: string;
  /** Time of the last change of a file, in milliseconds since 1970; infinite where the server does not tell. */
  readonly changedMs: number;
}

/**
 * Models, hooks and configurations on other servers. Their lists are kept for a time, their files are downloaded into a cache.
 * All errors are `ServingError`s that begin with the address, without secrets.
 */
export class ModelStorage {
  readonly #options: ModelStorageOptions;
  readonly #cache: ModelCache;
  readonly #listings: Listings;
  readonly #indexes: IndexFolders;
  readonly #names = new CachedNames();
  readonly #abort = new AbortController();

  constructor(options: ModelStorageOptions) {
    this.#options = options;
    this.#cache = new ModelCache(options);
    this.#indexes = new IndexFolders(options.describes);
    const { signal } = this.#abort;
    this.#listings = new Listings({
      pollMs: options.pollMs,
      list: (text) => {
        const address = openAddress(text);
        return findFiles(address.open(), address, signal);
      },
    });
  }

  /** Checks if what is at an address is a model, or has one in it, that is in archives. */
  async isArchive(text: string): Promise<boolean> {
    if (isArchiveName(openAddress(text).key)) return true;
    const { files } = await this.#find(text);
    return files.some(({ archive }) => archive !== undefined);
  }

  /**
   * A local file or folder that has the same names in it as the address, and no content but for descriptions of models; throws
   * `not_found` where there is nothing.
   */
  indexOf(text: string): Promise<string> {
    return named(text, async () => {
      const [address, found] = [openAddress(text), await this.#find(text)];
      return this.#indexes.pathOf({ address, found, signal: this.#abort.signal });
    });
  }

  /** Identity of the files at an address; throws `not_found` where there is nothing. */
  stampOf(address: string): Promise<RemoteStamp> {
    return named(address, async () => {
      const { files } = await this.#find(address);
      const times = files.map(({ changedMs = Number.POSITIVE_INFINITY }) => changedMs);
      return { text: fingerprintFiles(files), changedMs: times.reduce((last, one) => Math.max(last, one), 0) };
    });
  }

  /**
   * The files at an address on the local disk, downloaded where the cache does not have them: the path of the file, the folder or
   * what was in the archive. They stay until they are released.
   */
  fetch(text: string, signal: AbortSignal): Promise<CachedFolder> {
    return named(text, async () => {
      const found = await this.#find(text);
      const { cache, log, maxBytes } = { cache: this.#cache, ...this.#options };
      const ends = AbortSignal.any([signal, this.#abort.signal]);
      try {
        const address = openAddress(text);
        const copy = await fetchFiles({ address, found, cache, maxBytes, signal: ends, log });
        this.#names.add(copy.path, address.title);
        return copy;
      } catch (reason) {
        // A file that is not as it was listed: the next attempt lists it again.
        if (["aborted", "not_found", "data_loss"].includes(ServingError.from(reason).code)) this.#listings.expire(text);
        throw reason;
      }
    });
  }

  /** The error with addresses in place of paths of the cache. */
  toAddresses(reason: unknown): unknown {
    const { code, message, details } = ServingError.from(reason);
    const text = this.#names.toShown(message);
    return text === message ? reason : new ServingError(code, text, { cause: reason, ...(details && { details }) });
  }

  /** Has the next look ask the servers again. */
  expire(): void {
    this.#listings.expire();
  }

  /** Ends all downloads. */
  close(): void {
    this.#abort.abort(new ServingError("cancelled", "the server is closing"));
    this.#indexes.close();
  }

  /** Files below an address that is listed already are not listed again. */
  async #find(text: string): Promise<FoundFiles> {
    const parent = this.#listings.addresses.find((one) => text.startsWith(`${one}/`) && !/[?#]/.test(one));
    if (parent === undefined) return this.#listings.get(text);
    const { isFolder, files } = await this.#listings.get(parent);
    const { key } = openAddress(text);
    const own = files.filter((file) => file.key.startsWith(`${key}/`));
    return isFolder && own.length > 0 ? { isFolder: true, files: own } : this.#listings.get(text);
  }
}

/** Adds the address to errors. */
async function named<Result>(text: string, step: () => Promise<Result>): Promise<Result> {
  const { title } = openAddress(text);
  try {
    return await step();
  } catch (reason) {
    const { code } = ServingError.from(reason);
    const why = reasonText(reason).replace(/\.$/, "");
    throw new ServingError(code === "aborted" ? "unavailable" : code, `${title} cannot be read: ${why}.`, {
      cause: reason,
    });
  }
}
