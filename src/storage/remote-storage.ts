import { changeTexts } from "../error-info.ts";
import { reasonText, ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import { type CachedFolder, ModelCache, type ModelCacheOptions } from "./cache/model-cache.ts";
import type { DownloadState } from "./download-file.ts";
import { fetchFiles } from "./fetch-files.ts";
import { fingerprintFiles, IndexFolders, Listings, withinTime } from "./listings.ts";
import type { ModelStorage, RemoteStamp } from "./model-storage.ts";
import { type FoundFiles, findFiles } from "./objects/find-files.ts";
import { openAddress } from "./open-address.ts";
import { isArchiveName } from "./unpack/unpack-archive.ts";

/** Settings of remote models. */
export interface RemoteStorageOptions extends ModelCacheOptions {
  /** Time between two lists of the same address, in milliseconds; 0 = one, until {@link RemoteStorage.expire}. */
  readonly pollMs: number;
  /** Checks by its name below an address if a file describes models, and is read before they are chosen. */
  readonly describes: (name: string) => boolean;
  readonly log: Logger;
  /** Called at the beginning of each download, ten times a second at most while bytes come, and at its end. */
  readonly onDownload?: ((state: DownloadState) => void) | undefined;
}

/** Storage whose lists are kept for a time, and whose files are downloaded into a cache. */
export class RemoteStorage implements ModelStorage {
  readonly #options: RemoteStorageOptions;
  readonly #cache: ModelCache;
  readonly #listings: Listings;
  readonly #indexes: IndexFolders;
  readonly #names = new CachedNames();
  readonly #abort = new AbortController();

  constructor(options: RemoteStorageOptions) {
    this.#options = options;
    this.#cache = new ModelCache(options);
    this.#indexes = new IndexFolders(options.describes);
    const { signal } = this.#abort;
    this.#listings = new Listings({
      pollMs: options.pollMs,
      list: (text) => {
        const address = openAddress(text);
        return withinTime("its list", signal, (limited) => findFiles(address.open(), address, limited));
      },
    });
  }

  async isArchive(text: string): Promise<boolean> {
    if (isArchiveName(openAddress(text).key)) return true;
    const { files } = await this.#find(text);
    return files.some(({ archive }) => archive !== undefined);
  }

  indexOf(text: string): Promise<string> {
    return named(text, async () => {
      const [address, found] = [openAddress(text), await this.#find(text)];
      return this.#indexes.pathOf({ address, found, signal: this.#abort.signal });
    });
  }

  stampOf(address: string): Promise<RemoteStamp> {
    return named(address, async () => {
      const { files } = await this.#find(address);
      const times = files.map(({ changedMs = Number.POSITIVE_INFINITY }) => changedMs);
      return { text: fingerprintFiles(files), changedMs: times.reduce((last, one) => Math.max(last, one), 0) };
    });
  }

  fetch(text: string, signal: AbortSignal): Promise<CachedFolder> {
    return named(text, async () => {
      const found = await this.#find(text);
      const { log, maxBytes, onDownload } = this.#options;
      const ends = AbortSignal.any([signal, this.#abort.signal]);
      try {
        const address = openAddress(text);
        const copy = await fetchFiles({ address, found, cache: this.#cache, maxBytes, signal: ends, log, onDownload });
        this.#names.add(copy.path, address.title);
        return copy;
      } catch (reason) {
        // A file that is not as it was listed: the next attempt lists it again.
        if (["aborted", "not_found", "data_loss"].includes(ServingError.from(reason).code)) this.#listings.expire(text);
        throw reason;
      }
    });
  }

  toAddresses(reason: unknown): unknown {
    const error = ServingError.from(reason);
    const shown = changeTexts(error, (text) => this.#names.toShown(text));
    return shown.message === error.message ? reason : shown;
  }

  expire(): void {
    this.#listings.expire();
  }

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
  } catch (thrown) {
    const reason = isOtherForm(thrown) ? new ServingError("unavailable", OTHER_FORM, { cause: thrown }) : thrown;
    const { code } = ServingError.from(reason);
    const why = reasonText(reason).replace(/\.$/, "");
    throw new ServingError(code === "aborted" ? "unavailable" : code, `${title} cannot be read: ${why}.`, {
      cause: reason,
    });
  }
}

const OTHER_FORM = "the server's answer is not one of such a storage. Check the address";

/** An answer's JSON is read without a look at its form: what lacks a member ends so. */
function isOtherForm(reason: unknown): boolean {
  return reason instanceof TypeError && !("code" in reason);
}

/** Maximum number of paths that are known: those of the latest downloads. */
const MAX_PATHS = 1000;

/** The addresses of files in the cache: messages are about these, as people do not know the cache. */
class CachedNames {
  readonly #titles = new Map<string, string>();

  add(path: string, title: string): void {
    this.#titles.delete(path);
    this.#titles.set(path, title);
    const [oldest] = this.#titles.keys();
    if (this.#titles.size > MAX_PATHS && oldest !== undefined) this.#titles.delete(oldest);
  }

  /** A text with addresses in place of paths. */
  toShown(text: string): string {
    const known = [...this.#titles].filter(([path]) => text.includes(path));
    return known.reduce((shown, [path, title]) => shown.replaceAll(path, title), text);
  }
}
