import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { readHead } from "./read-head.ts";

/** Entries of a folder that are looked at. */
const MOST_ENTRIES = 200;
/** Pointers are shorter, by the format's definition. */
const POINTER_BYTES = 1024;

/**
 * The Git LFS pointers among a model's files, by their names: in its folder and the folders there, or those beside its
 * file that an error names.
 */
export function lfsPointers(path: string, error: string): string[] {
  try {
    if (!statSync(path).isDirectory())
      return entriesOf(dirname(path))
        .map((file) => basename(file))
        .filter((name) => error.includes(name) && isPointer(join(dirname(path), name)));
    const files = [...entriesOf(path), ...foldersIn(path).flatMap(entriesOf)];
    return files.filter(isPointer).map((file) => relative(path, file));
  } catch {
    // A path that cannot be read has an error of its own.
    return [];
  }
}

function entriesOf(folder: string): string[] {
  const names = readdirSync(folder).sort().slice(0, MOST_ENTRIES);
  return names.map((name) => join(folder, name));
}

function foldersIn(folder: string): string[] {
  return entriesOf(folder).filter((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory());
}

function isPointer(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true && stat.size < POINTER_BYTES && /^version https:\/\/git-lfs/.test(readHead(path));
}
