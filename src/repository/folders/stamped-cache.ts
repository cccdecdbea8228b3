import { stat } from "node:fs/promises";

/** A file system may give changes within so many milliseconds the same time. */
const TICK_MS = 2000;
/** Beyond this all is forgotten. */
const MAX_ENTRIES = 5000;

interface Entry<Value> {
  readonly stamp: string;
  readonly value: Value;
}

/** Keeps what was read of files and folders, by their paths, until their times or sizes change. What changed just before it was read is read again. */
export class StampedCache<Value> {
  readonly #entries = new Map<string, Entry<Value>>();

  /** Resolves as `read` does, or did before; its failures are not kept. */
  async get(path: string, read: () => Promise<Value>): Promise<Value> {
    const { stamp, changedMs } = await stampOf(path);
    const entry = this.#entries.get(path);
    if (entry !== undefined && entry.stamp === stamp) return entry.value;
    this.#entries.delete(path);
    const value = await read();
    if (this.#entries.size >= MAX_ENTRIES) this.#entries.clear();
    if (stamp !== "" && Date.now() - changedMs > TICK_MS) this.#entries.set(path, { stamp, value });
    return value;
  }
}

/** Empty where the path cannot be looked at. */
async function stampOf(path: string): Promise<{ readonly stamp: string; readonly changedMs: number }> {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path);
    return { stamp: `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`, changedMs: ctimeMs };
  } catch {
    return { stamp: "", changedMs: 0 };
  }
}
