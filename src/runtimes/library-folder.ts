import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { NativeRuntime } from "./native-runtime.ts";

/**
 * The library that a path means: the file itself, with any name, or the one in that folder or in the usual subfolders
 * of installations.
 */
export function libraryAt(runtime: NativeRuntime, path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() ? resolve(path) : libraryBelow(runtime, path);
}

/** The same for a folder. */
export function libraryBelow(runtime: NativeRuntime, folder: string): string | undefined {
  const folders = runtime.subfolders.flatMap((pattern) => foldersMatching(folder, pattern));
  return folders.map((each) => libraryIn(runtime, each)).find((found) => found !== undefined);
}

/** The same for one folder alone, which has to hold all of the runtime's libraries. */
export function libraryIn({ required }: NativeRuntime, folder: string): string | undefined {
  const names = namesIn(folder).sort();
  const found = required.map((pattern) => names.find((name) => pattern.test(name)));
  return found.includes(undefined) ? undefined : resolve(folder, found[0]!);
}

/** Folders in a folder: `*` in a part of the pattern matches anything but a separator. */
export function foldersMatching(folder: string, pattern: string): string[] {
  const parts = pattern.split("/").filter((part) => part !== "");
  return parts.reduce<string[]>(
    (folders, part) => folders.flatMap((each) => matching(each, part).map((name) => join(each, name))),
    [folder],
  );
}

function matching(folder: string, part: string): string[] {
  if (!part.includes("*")) return [part];
  const [start, end] = part.split("*") as [string, string];
  return namesIn(folder).filter((name) => name.startsWith(start) && name.endsWith(end));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
