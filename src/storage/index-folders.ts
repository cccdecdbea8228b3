import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { failedPrecondition } from "../errors.ts";
import { TurnsByName } from "../platform/async/promises.ts";
import { createScratchFolder, type ScratchFile } from "../platform/user-module/scratch-file.ts";
import { readBytes } from "./http/answers.ts";
import { fingerprintFiles, withinTime } from "./listings.ts";
import { localName } from "./local-name.ts";
import type { FoundFiles } from "./objects/find-files.ts";
import type { RemoteFile, StorageAddress } from "./storage-client.ts";

/** Maximum size of a file of which an index has the content, in bytes. */
const MAX_BYTES = 1024 * 1024;
/** The same for all of one index. */
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;
/** Time after which an index that nothing has looked at is removed, in milliseconds; it can be made again. */
const UNUSED_MS = 60 * 60 * 1000;

interface Index {
  readonly fingerprint: string;
  readonly folder: ScratchFile;
  /** The folder before it, which another model's check may be looking at. */
  readonly former: ScratchFile | undefined;
  /** Its last use, on the clock of performance.now(). */
  usedAt: number;
}

/** The source of an index. */
export interface IndexSource {
  readonly address: StorageAddress;
  readonly found: FoundFiles;
  readonly signal: AbortSignal;
}

/**
 * Local folders with the names of remote files: what looks for versions and models in a folder looks there, before
 * anything is downloaded. The files are empty, but for those whose names say that they describe models.
 */
export class IndexFolders {
  readonly #describes: (name: string) => boolean;
  /** By address, least recently used first. */
  readonly #indexes = new Map<string, Index>();
  readonly #turns = new TurnsByName();

  constructor(describes: (name: string) => boolean) {
    this.#describes = describes;
  }

  /** The path in the index that stands for an address; made again if the files have changed. */
  async pathOf(source: IndexSource): Promise<string> {
    const { address, found } = source;
    const { folder } = await this.#turns.run(address.title, () => this.#update(source));
    const path = join(folder.path, "index");
    return found.isFolder ? path : join(path, localName(basename(address.key)));
  }

  close(): void {
    this.#removeUnused(Number.POSITIVE_INFINITY);
  }

  /** Removes those that were last used before a time. */
  #removeUnused(before: number): void {
    for (const [title, { folder, former, usedAt }] of this.#indexes) {
      if (usedAt >= before) return;
      for (const each of [folder, former]) each?.remove();
      this.#indexes.delete(title);
    }
  }

  async #update(source: IndexSource): Promise<Index> {
    const { title } = source.address;
    const fingerprint = fingerprintFiles(source.found.files);
    const before = this.#indexes.get(title);
    const isSame = before?.fingerprint === fingerprint;
    const usedAt = performance.now();
    const index = isSame
      ? { ...before, usedAt }
      : { fingerprint, folder: await this.#create(source), former: before?.folder, usedAt };
    if (!isSame) before?.former?.remove();
    this.#indexes.delete(title);
    this.#indexes.set(title, index);
    this.#removeUnused(usedAt - UNUSED_MS);
    return index;
  }

  async #create({ address, found, signal }: IndexSource): Promise<ScratchFile> {
    const folder = createScratchFolder();
    try {
      const root = found.isFolder ? address.key : dirname(address.key).replace(/^\.$/, "");
      await mkdir(join(folder.path, "index"));
      let total = 0;
      for (const file of found.files) {
        const name = localName(file.key.slice(root === "" ? 0 : root.length + 1));
        const path = join(folder.path, "index", name);
        await mkdir(dirname(path), { recursive: true });
        if (this.#describes(name) && (file.bytes ?? 0) <= MAX_BYTES) {
          total += await copy(file, { path, address, signal });
          if (total > MAX_TOTAL_BYTES) throw failedPrecondition("its descriptions of models have more than 64 MB");
        } else await writeFile(path, "");
      }
      return folder;
    } catch (reason) {
      folder.remove();
      throw reason;
    }
  }
}

interface CopyOptions {
  readonly path: string;
  readonly address: StorageAddress;
  readonly signal: AbortSignal;
}

/** Returns the size. */
function copy(file: RemoteFile, { path, address, signal }: CopyOptions): Promise<number> {
  return withinTime(basename(file.key), signal, async (limited) => {
    const { stream } = await address.open().open(file, 0, limited);
    const bytes = await readBytes(stream, file.bytes ?? MAX_BYTES);
    await writeFile(path, bytes);
    return bytes.length;
  });
}
