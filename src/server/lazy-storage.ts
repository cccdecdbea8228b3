import type { CachedFolder } from "../storage/cache/model-cache.ts";
import type { ModelStorage, RemoteStamp } from "../storage/model-storage.ts";
import type { RemoteStorage } from "../storage/remote-storage.ts";
import type { ServerChoices } from "./server-options.ts";

/**
 * The storage of a server: what reads models, hooks and configurations at addresses.
 * Its code is imported with the first one.
 */
export class LazyStorage implements ModelStorage {
  readonly #choices: ServerChoices;
  #opening: Promise<RemoteStorage> | undefined;
  #opened: RemoteStorage | undefined;

  constructor(choices: ServerChoices) {
    this.#choices = choices;
  }

  async isArchive(address: string): Promise<boolean> {
    return (await this.#open()).isArchive(address);
  }

  async indexOf(address: string): Promise<string> {
    return (await this.#open()).indexOf(address);
  }

  async stampOf(address: string): Promise<RemoteStamp> {
    return (await this.#open()).stampOf(address);
  }

  async fetch(address: string, signal: AbortSignal): Promise<CachedFolder> {
    return (await this.#open()).fetch(address, signal);
  }

  toAddresses(reason: unknown): unknown {
    return this.#opened?.toAddresses(reason) ?? reason;
  }

  expire(): void {
    this.#opened?.expire();
  }

  close(): void {
    void this.#opening?.then((storage) => storage.close());
  }

  async #open(): Promise<RemoteStorage> {
    this.#opening ??= openStorage(this.#choices);
    this.#opened = await this.#opening;
    return this.#opened;
  }
}

async function openStorage({
  modelCache,
  modelCacheBytes: maxBytes,
  storagePollMs: pollMs,
  log,
  onDownload,
}: ServerChoices): Promise<RemoteStorage> {
  const [{ RemoteStorage }, { isDescription: describes }, { cacheFolder }] = await Promise.all([
    import("../storage/remote-storage.ts"),
    import("../serving/repository/folders/read-triton-config.ts"),
    import("../storage/cache/model-cache.ts"),
  ]);
  return new RemoteStorage({ folder: modelCache ?? cacheFolder(), maxBytes, pollMs, describes, log, onDownload });
}
