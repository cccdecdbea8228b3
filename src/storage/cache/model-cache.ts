import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { basename, join, posix, resolve } from "node:path";
import { failedPrecondition, reasonText, ServingError } from "../../errors.ts";
import { TurnsByName } from "../../platform/async/promises.ts";
import { homeFolder } from "../../platform/machine/system.ts";
import { sizeText } from "../../platform/text/size-text.ts";
import { claimStage, moveStage, SOURCE, type StageClaim } from "./stage-claim.ts";

/** Place and size of a cache. */
export interface ModelCacheOptions {
  readonly folder: string;
  /** Maximum size of all files, in bytes; 0 = no limit. */
  readonly maxBytes: number;
}

/** An entry of the cache, which may have to be filled. */
export interface CacheEntry {
  /** Name of its folder. */
  readonly name: string;
  /** The address of its files; those of one source replace each other. */
  readonly source: string;
  /** Its size, as far as it is known before it is there. */
  readonly bytes: number;
  /**
   * Writes its files into a folder, in which an earlier attempt may have left some, and unfinished ones next to it;
   * returns their size.
   */
  fill(folder: string): Promise<number>;
}

/** Files in the cache, which stay there until they are released. */
export interface CachedFolder {
  readonly path: string;
  release(): void;
}

/**
 * A folder of downloaded models. Each is there completely or not at all, and the least
 * recently used ones make room for others. Several processes may share it: files that
 * another one has in use can be removed, which does not affect what it has loaded.
 */
export class ModelCache {
  readonly #options: ModelCacheOptions;
  readonly #turns = new TurnsByName();
  /** The number of users of each entry. */
  readonly #pins = new Map<string, number>();
  /** Bytes of downloads that are not finished. */
  readonly #coming = new Map<string, number>();

  constructor(options: ModelCacheOptions) {
    this.#options = options;
  }

  /**
   * The folder of an entry, filled if it is not there yet; throws what `fill` throws,
   * and disk errors with advice.
   */
  async open(entry: CacheEntry): Promise<CachedFolder> {
    const { name } = entry;
    this.#pins.set(name, (this.#pins.get(name) ?? 0) + 1);
    const release = this.#unpinOnce(name);
    try {
      const path = await this.#turns.run(name, () => this.#obtain(entry));
      return { path, release };
    } catch (reason) {
      release();
      throw this.#toDiskError(reason);
    }
  }

  async #obtain(entry: CacheEntry): Promise<string> {
    const path = join(this.#options.folder, entry.name);
    if (await isFolder(path)) {
      const now = new Date();
      await utimes(path, now, now).catch(() => {});
      return path;
    }
    this.#coming.set(entry.name, entry.bytes);
    try {
      await mkdir(this.#partial, { recursive: true });
      await this.#turns.run("", () => this.#makeRoom(entry));
      await this.#fill(entry, path);
    } finally {
      this.#coming.delete(entry.name);
    }
    return path;
  }

  async #fill(entry: CacheEntry, path: string): Promise<void> {
    const stage = await claimStage(this.#partial, entry.name, entry.source);
    // Other processes may be doing the same; what stays is removed by the next download.
    await removeAbandonedStages(this.#partial, stage).catch(() => {});
    try {
      const bytes = await entry.fill(stage.path);
      await writeFile(`${path}.json`, JSON.stringify({ bytes }));
      await rename(stage.path, path).catch((reason: NodeJS.ErrnoException) => {
        // Another process was faster.
        if (!["ENOTEMPTY", "EEXIST", "EPERM"].includes(reason.code ?? "")) throw reason;
      });
      await rm(stage.folder, { recursive: true, force: true });
    } finally {
      await stage.release();
    }
  }

  /** Removes the least recently used entries until there is room for new bytes. */
  async #makeRoom({ name, bytes }: CacheEntry): Promise<void> {
    const { folder, maxBytes } = this.#options;
    if (maxBytes === 0) return;
    if (bytes > maxBytes) throw tooLarge(bytes, maxBytes);
    const entries = await this.#entries();
    const coming = [...this.#coming.values()].reduce((sum, one) => sum + one, 0);
    let total = entries.reduce((sum, one) => sum + one.bytes, coming);
    for (const one of entries.toSorted((a, b) => a.usedMs - b.usedMs)) {
      if (total <= maxBytes) return;
      if (one.name === name || this.#pins.has(one.name)) continue;
      await this.#remove(join(folder, one.name));
      total -= one.bytes;
    }
    if (total > maxBytes) throw allInUse(bytes, total - bytes, maxBytes);
  }

  async #entries(): Promise<{ name: string; bytes: number; usedMs: number }[]> {
    const { folder } = this.#options;
    const names = (await readdir(folder))
      .filter((name) => name.endsWith(".json"))
      .map((name) => basename(name, ".json"));
    const entries = await Promise.all(names.map((name) => readEntry(join(folder, name))));
    return entries.filter((one) => one !== undefined);
  }

  /** Renamed first, so that no process takes a folder of which some files are missing. */
  async #remove(path: string): Promise<void> {
    const old = join(this.#partial, `old+${basename(path)}+${randomUUID()}`);
    await rename(path, old).catch(() => {});
    await rm(`${path}.json`, { force: true });
    await rm(old, { recursive: true, force: true });
  }

  get #partial(): string {
    return join(this.#options.folder, ".partial");
  }

  #unpinOnce(name: string): () => void {
    let isPinned = true;
    return () => {
      if (!isPinned) return;
      isPinned = false;
      const left = (this.#pins.get(name) ?? 1) - 1;
      if (left === 0) this.#pins.delete(name);
      else this.#pins.set(name, left);
    };
  }

  #toDiskError(reason: unknown): unknown {
    if (reason instanceof ServingError || !(reason instanceof Error) || !("syscall" in reason)) return reason;
    const { folder } = this.#options;
    const why = reasonText(reason).split(",", 1)[0] ?? "";
    const advice = "Make room, or choose another folder with --model-cache DIR";
    return failedPrecondition(`the cache folder "${folder}" cannot be written: ${why}. ${advice}`, reason);
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

async function readEntry(path: string) {
  try {
    const { bytes } = JSON.parse(await readFile(`${path}.json`, "utf8")) as { bytes: number };
    return { name: basename(path), bytes, usedMs: (await stat(path)).mtimeMs };
  } catch {
    return undefined;
  }
}

function tooLarge(bytes: number, maxBytes: number): ServingError {
  const message = `it has ${sizeText(bytes)}, and the cache may have ${sizeText(maxBytes)}. Raise --model-cache-size`;
  return new ServingError("resource_exhausted", message);
}

function allInUse(bytes: number, used: number, maxBytes: number): ServingError {
  const message = `it has ${sizeText(bytes)}, and served models use ${sizeText(used)} of the cache's ${sizeText(maxBytes)}. Raise --model-cache-size`;
  return new ServingError("resource_exhausted", message);
}

/** Time without a change after which a download is not expected to go on, in milliseconds. */
const OLD_MS = 24 * 60 * 60 * 1000;

/**
 * Removes what ended downloads have left: those from the same source, whose files have been replaced, and those a day
 * old. What a running process has claimed stays.
 */
async function removeAbandonedStages(parent: string, own: StageClaim): Promise<void> {
  for (const name of await readdir(parent)) {
    const folder = join(parent, name);
    if (folder === own.folder) continue;
    const isOld = Date.now() - (await lastChangeMs(folder)) > OLD_MS;
    if (!isOld && (await sourceOf(folder)) !== own.source) continue;
    const old = join(parent, `old+${name}+${randomUUID()}`);
    if (await moveStage(folder, old, isOld)) await rm(old, { recursive: true, force: true });
  }
}

async function sourceOf(folder: string): Promise<string | undefined> {
  return readFile(join(folder, SOURCE), "utf8").catch(() => undefined);
}

/** Of a folder that another process is removing it is now. */
async function lastChangeMs(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  let last = 0;
  for (const name of ["", ...names])
    last = Math.max(last, await stat(join(folder, name)).then(({ ctimeMs }) => ctimeMs, Date.now));
  return last;
}

/**
 * The folder of downloaded models if none is chosen:
 * https://specifications.freedesktop.org/basedir-spec and what other systems have.
 */
export function cacheFolder(
  env: Readonly<Record<string, string | undefined>> = process.env,
  platform: NodeJS.Platform = process.platform,
  home: string = homeFolder(),
): string {
  if (platform === "win32")
    return join(env.LOCALAPPDATA || join(home, "AppData", "Local"), "kserving", "cache", "models");
  if (platform === "darwin") return posix.join(home, "Library", "Caches", "kserving", "models");
  const xdg = env.XDG_CACHE_HOME ?? "";
  return resolve(posix.isAbsolute(xdg) ? xdg : posix.join(home, ".cache"), "kserving", "models");
}
