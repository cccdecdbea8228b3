import type { Dirent, Stats } from "node:fs";
import { opendir, stat } from "node:fs/promises";
import { join } from "node:path";
import { failedPrecondition } from "../../errors.ts";
import { readProblem } from "../../text/read-problem.ts";
import { StampedCache } from "./stamped-cache.ts";

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

const LISTED = new StampedCache<readonly OwnEntry[]>();

/**
 * Lists a folder, sorted by name; throws `failed_precondition` for one that cannot be read, or has over 10000 entries.
 * A link to nothing or to itself has the kind `other`. `stats` = the folder's facts, where they were just read.
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
