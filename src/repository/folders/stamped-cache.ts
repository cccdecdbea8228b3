import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";

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
    const { stamp, changedMs } = stampOf(stats ?? (await statOf(path)));
    const entry = this.#entries.get(path);
    if (entry !== undefined && entry.stamp === stamp) return entry.value;
    this.#entries.delete(path);
    const value = await read();
    if (this.#entries.size >= MAX_ENTRIES) this.#entries.clear();
    if (stamp !== "" && Date.now() - changedMs > TICK_MS) this.#entries.set(path, { stamp, value });
    return value;
  }
}

/** Empty where the path's facts cannot be read. */
function stampOf(stats: Stats | undefined): { readonly stamp: string; readonly changedMs: number } {
  if (stats === undefined) return { stamp: "", changedMs: 0 };
  const { dev, ino, size, mtimeMs, ctimeMs } = stats;
  return { stamp: `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`, changedMs: ctimeMs };
}

function statOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined);
}
