import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { basename, dirname, join, parse } from "node:path";
import { fileStamp } from "../../../platform/text/file-stamp.ts";

/** Identity of a version's files, without their content. */
export interface Fingerprint {
  /** Changes when a file is added, removed or replaced, or its size, time, owner or mode changes. */
  readonly text: string;
  /** Time of the last change of a file, in milliseconds since 1970, by the clock of its disk. */
  readonly changedMs: number;
  readonly files: number;
  /** Size of a folder's files together; of a file with its weights, without other models next to it. */
  readonly bytes: number;
}

/**
 * Maximum number of files of one version that are checked; changes in other files of a
 * larger one need an explicit reload.
 */
const MAX_FILES = 10_000;
const MAX_DEPTH = 32;
/** Endings of models, which are no other one's weights. */
const MODEL = /\.(?:onnx|ort|xml|pb|tflite|h5|hdf5|keras|pt2?|pth|jit|torchscript|safetensors)$/i;

/**
 * Fingerprints all files of a folder, links followed, or a file and the files next to it whose names begin alike
 * (weights). Unreadable entries count as such; the file `except` of a folder does not count.
 */
export async function fingerprintOf(path: string, except?: string): Promise<Fingerprint> {
  const walk = new Walk(except);
  const stats = await statOf(path);
  if (typeof stats !== "string" && stats.isDirectory()) await walk.folder(path, stats, 0);
  else await walk.siblings(path);
  return walk.finish();
}

/** Collects files, and visits each folder once. */
class Walk {
  readonly #hash = createHash("sha1");
  readonly #seen = new Set<string>();
  #changedMs = 0;
  #files = 0;
  #bytes = 0;
  readonly #except: string | undefined;

  constructor(except: string | undefined) {
    this.#except = except;
  }

  async folder(path: string, { dev, ino }: Stats, depth: number): Promise<void> {
    const identity = `${dev}:${ino}`;
    if (this.#seen.has(identity) || depth > MAX_DEPTH) return;
    this.#seen.add(identity);
    const names = await readdir(path).catch((reason: NodeJS.ErrnoException) => this.#add(path, String(reason.code)));
    for (const name of (names ?? []).sort()) {
      if (this.#files >= MAX_FILES) return;
      const child = join(path, name);
      if (child === this.#except) continue;
      const stats = await statOf(child);
      if (typeof stats !== "string" && stats.isDirectory()) await this.folder(child, stats, depth + 1);
      else this.#add(child, stats);
    }
  }

  async siblings(path: string): Promise<void> {
    const { name: stem, base } = parse(path);
    const isPart = (name: string) => name === base || (name.startsWith(`${stem}.`) && !MODEL.test(name));
    const names = await readdir(dirname(path)).catch(() => [basename(path)]);
    for (const name of names
      .filter((each) => each.startsWith(stem))
      .sort()
      .slice(0, MAX_FILES)) {
      const sibling = join(dirname(path), name);
      const stats = await statOf(sibling);
      if (typeof stats === "string" || !stats.isDirectory()) this.#add(sibling, stats, isPart(name));
    }
  }

  finish(): Fingerprint {
    return { text: this.#hash.digest("base64url"), changedMs: this.#changedMs, files: this.#files, bytes: this.#bytes };
  }

  #add(path: string, stats: Stats | string, isPart = true): void {
    this.#files++;
    // A change of owner, mode or hard links counts too; the price is a load for nothing.
    const facts = typeof stats === "string" ? stats : fileStamp(stats);
    this.#hash.update(`${path}\0${facts}\0`);
    if (typeof stats === "string") return;
    this.#changedMs = Math.max(this.#changedMs, stats.ctimeMs);
    if (isPart) this.#bytes += stats.size;
  }
}

/** The code of the error for an unreadable entry; for a dangling link the link's own facts. */
async function statOf(path: string): Promise<Stats | string> {
  try {
    return await stat(path).catch(() => lstat(path));
  } catch (reason) {
    return String((reason as NodeJS.ErrnoException).code);
  }
}
