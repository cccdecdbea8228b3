import type { Dirent, Stats } from "node:fs";
import { opendir, stat } from "node:fs/promises";
import { join } from "node:path";
import { failedPrecondition } from "../../../errors.ts";
import { readProblem } from "../../../platform/text/file-problem.ts";
import { fileStamp } from "../../../platform/text/file-stamp.ts";
import { parseVersion } from "../../parse-version.ts";

/** Maximum number of entries in a folder of models; a mistaken path may be a folder of a million images. */
const MAX_ENTRIES = 10_000;

/**
 * Folders that are no models: every new disk of Linux has the first, which only root may read, archives of a Mac
 * the second.
 */
const FOREIGN = ["lost+found", "__MACOSX"];

/** An entry of a folder, with links followed; hidden names are omitted. */
export interface FolderEntry {
  readonly name: string;
  readonly path: string;
  readonly kind: "file" | "folder" | "other";
}

/** An entry as its folder lists it. */
type OwnEntry = Omit<FolderEntry, "kind"> & { readonly kind: FolderEntry["kind"] | "link" };

/**
 * Lists a folder, sorted by name; throws `failed_precondition` for one that cannot be read, or has over 10000 entries.
 * A link to nothing or to itself has the kind `other`. `stats` = the folder's facts, if they were just read.
 */
export async function listFolder(folder: string, stats?: Stats): Promise<readonly FolderEntry[]> {
  const entries = await LISTED.get(folder, () => readFolder(folder), stats);
  return Promise.all(entries.map(followLink));
}

async function readFolder(folder: string): Promise<readonly OwnEntry[]> {
  const entries: OwnEntry[] = [];
  try {
    for await (const entry of await opendir(folder)) {
      if (entry.name.startsWith(".") || FOREIGN.includes(entry.name)) continue;
      if (entries.length === MAX_ENTRIES) throw failedPrecondition(tooMany(folder));
      const kind = entry.isSymbolicLink() ? "link" : kindOf(entry);
      entries.push({ name: entry.name, path: join(folder, entry.name), kind });
    }
  } catch (reason) {
    if (!isSystemError(reason)) throw reason;
    const problem = (await kindBehind(folder)) === "file" ? "is a file" : readProblem(reason);
    throw failedPrecondition(`The folder "${folder}" ${problem}; expected a folder of models or versions.`, reason);
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Follows a link each time: its target may change while the folder of the link stays unchanged. */
function followLink(entry: OwnEntry): FolderEntry | Promise<FolderEntry> {
  const { kind } = entry;
  return kind === "link" ? kindBehind(entry.path).then((found) => ({ ...entry, kind: found })) : { ...entry, kind };
}

function isSystemError(reason: unknown): boolean {
  return reason instanceof Error && "syscall" in reason;
}

function tooMany(folder: string): string {
  return `The folder "${folder}" has more than ${MAX_ENTRIES} entries; expected a folder of models or versions.`;
}

async function kindBehind(path: string): Promise<FolderEntry["kind"]> {
  try {
    return kindOf(await stat(path));
  } catch {
    return "other";
  }
}

function kindOf(entry: Pick<Dirent, "isFile" | "isDirectory">): FolderEntry["kind"] {
  if (entry.isDirectory()) return "folder";
  return entry.isFile() ? "file" : "other";
}

/** Checks if an entry is the folder of a version, whose name is a number. */
export function isVersionFolder({ kind, name }: FolderEntry): boolean {
  return kind === "folder" && parseVersion(name) !== undefined;
}

const HOOK_FILES = ["hooks.ts", "hooks.js", "hooks.mjs", "hooks.py"];

/** The hook file in a version's folder, which overrides the model's; undefined if there is none. */
export async function findHooks(folder: string): Promise<string | undefined> {
  if (folder === "") return undefined;
  const entries = await listFolder(folder).catch(unlessForNow);
  for (const name of HOOK_FILES) {
    const found = entries.find((entry) => entry.name === name && entry.kind === "file");
    if (found !== undefined) return found.path;
  }
  return undefined;
}

/** Errors that pass: without its hooks, a version would answer wrongly until the next check. */
const PASSING = ["EMFILE", "ENFILE", "ENOMEM", "EIO", "ESTALE"];

/** A version may be a file, or gone; its load says so. */
function unlessForNow(reason: Error): [] {
  const { code = "" } = (reason.cause ?? {}) as { code?: string };
  if (PASSING.includes(code)) throw reason;
  return [];
}

/** Time within which a file system may give two changes the same time, in milliseconds. */
const TICK_MS = 2000;
/** Maximum number of results in a cache, after which all are discarded. */
const MAX_CACHED = 5000;

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
   * `stats` = the path's facts, if they were just read.
   */
  async get(path: string, read: () => Promise<Value>, stats?: Stats): Promise<Value> {
    const found = stats ?? (await statOf(path));
    if (found === undefined) return read();
    const stamp = fileStamp(found);
    const entry = this.#entries.get(path);
    if (entry?.stamp === stamp) return entry.value;
    this.#entries.delete(path);
    const value = await read();
    if (this.#entries.size >= MAX_CACHED) this.#entries.clear();
    if (Date.now() - found.ctimeMs > TICK_MS) this.#entries.set(path, { stamp, value });
    return value;
  }
}

function statOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined);
}

const LISTED = new StampedCache<readonly OwnEntry[]>();
