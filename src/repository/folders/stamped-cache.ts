import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { fileStamp } from "../../text/file-stamp.ts";

/** Time within which a file system may give two changes the same time, in milliseconds. */
const TICK_MS = 2000;
/** Maximum number of entries, after which all are discarded. */
const MAX_ENTRIES = 5000;

interface Entry<Value> {
  readonly stamp: string;
  readonly value: Value;
}

/**
 * Caches the contents of files and folders, by path, until their times or sizes change. An entry that changed just
 * before it was read is read again.
 */
export class StampedCache<Value> {
  readonly #entries = new Map<string, Entry<Value>>();

  /**
   * Resolves with the cached result of `read`, or a new one; failures are not cached.
   * `stats` = the path's facts, where they were just read.
   */
  async get(path: string, read: () => Promise<Value>, stats?: Stats): Promise<Value> {
    const found = stats ?? (await statOf(path));
    if (found === undefined) return read();
    const stamp = fileStamp(found);
    const entry = this.#entries.get(path);
    if (entry?.stamp === stamp) return entry.value;
    this.#entries.delete(path);
    const value = await read();
    if (this.#entries.size >= MAX_ENTRIES) this.#entries.clear();
    if (Date.now() - found.ctimeMs > TICK_MS) this.#entries.set(path, { stamp, value });
    return value;
  }
}

function statOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined);
}
