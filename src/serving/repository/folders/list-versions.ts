import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { folderContents, pathHint } from "../../../drivers/file-kind.ts";
import { DRIVER_NAMES } from "../../../drivers/registry.ts";
import { failedPrecondition, ServingError } from "../../../errors.ts";
import { readProblem } from "../../../platform/text/file-problem.ts";
import { parseVersion } from "../../parse-version.ts";
import { exportFoldersIn, isDetected, modelsIn } from "./find-model.ts";
import { type FolderEntry, isVersionFolder, listFolder } from "./list-folder.ts";

/** A version of a model on disk. */
export interface FoundVersion {
  readonly version: bigint;
  /** A folder, or a model's file. */
  readonly path: string;
  /** The folder that lists it, if it is on another server. */
  readonly listed?: string;
}

/** The versions at a model's path. */
export interface VersionList {
  /** Each number once, in ascending order. */
  readonly versions: readonly FoundVersion[];
  /** Folders with the same version as another one, and similar problems. */
  readonly warnings: readonly string[];
  /** The number of the disk that the folder is on; absent for a file, and on another server. */
  readonly disk?: number;
}

/** Number of the version if there is no folder of versions. */
export const FLAT_VERSION = 1n;

/**
 * Lists the versions at a path: the folders in it whose names are numbers, for any driver. Without any, the path
 * itself, which is a file or a folder with a model in it, is version 1. Throws `not_found` with the entries that were
 * found if there is neither, `failed_precondition` for a path that cannot be read.
 */
export async function listVersions(path: string, driver?: string): Promise<VersionList> {
  const stats = await statOf(path);
  if (!stats.isDirectory()) return flat(path);
  const entries = await listFolder(path, stats);
  const numbered = entries.filter(isVersionFolder);
  if (numbered.length > 0) {
    const { versions, warnings } = distinct(numbered);
    return { versions, warnings: [...warnings, ...(await leftOut(entries))], disk: stats.dev };
  }
  const isOwnDriver = driver !== undefined && !DRIVER_NAMES.includes(driver);
  const isWhole = isOwnDriver || exportFoldersIn(entries).length > 0 || (await isDetected(path));
  const isModel = isWhole || (await modelsIn(entries.filter(isFile))).length > 0;
  if (isModel) return { ...flat(path), disk: stats.dev };
  throw noVersion(path, entries);
}

function flat(path: string): VersionList {
  return { versions: [{ version: FLAT_VERSION, path }], warnings: [] };
}

function isFile({ kind }: FolderEntry): boolean {
  return kind === "file";
}

/** Model files next to folders of versions. */
async function leftOut(entries: readonly FolderEntry[]): Promise<readonly string[]> {
  const files = await modelsIn(entries.filter(isFile));
  return files.map(
    ({ path }) =>
      `${path} is left out, since there are folders of versions next to it; a version's files are in its folder.`,
  );
}

/** Of `1` and `001` the shorter name is used. */
function distinct(entries: readonly FolderEntry[]): VersionList {
  const byVersion = new Map<bigint, FolderEntry>();
  const warnings: string[] = [];
  for (const entry of entries.toSorted((a, b) => a.name.length - b.name.length)) {
    const version = parseVersion(entry.name)!;
    const taken = byVersion.get(version);
    if (taken === undefined) byVersion.set(version, entry);
    else
      warnings.push(`The folders ${taken.path} and ${entry.path} are both version ${version}; the first one counts.`);
  }
  const versions = Array.from(byVersion, ([version, { path }]) => ({ version, path }));
  return { versions: versions.sort((a, b) => (a.version < b.version ? -1 : 1)), warnings };
}

function noVersion(path: string, entries: readonly FolderEntry[]): ServingError {
  const expected = "expected folders of versions, named by numbers such as 1, or one model";
  const found = entries.length === 0 ? "is empty" : "has no version";
  const cause = folderContents(entries.map(({ name, kind }) => (kind === "folder" ? `${name}/` : name)));
  return new ServingError("not_found", `The folder "${path}" ${found}; ${expected}.${pathHint(path)}`, { cause });
}

/** The facts of a file or folder. */
async function statOf(path: string): Promise<Stats> {
  try {
    const stats = await stat(path);
    if (stats.isDirectory() || stats.isFile()) return stats;
  } catch (reason) {
    throw failedPrecondition(`The model "${path}" ${readProblem(reason)}; expected a file or a folder.`, reason);
  }
  // Opening a pipe would wait for its other end.
  throw failedPrecondition(`The model "${path}" is neither a file nor a folder; expected one of them.`);
}
