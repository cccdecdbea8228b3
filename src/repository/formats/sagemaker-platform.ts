import { readdir, realpath } from "node:fs/promises";
import { isAbsolute, join, relative } from "node:path";
import type { RawOptions } from "../../drivers/option-table.ts";
import { findHooks, foldersOfVersions } from "./sagemaker.ts";

/** The folder below which a platform puts models. */
export interface PlatformFolder {
  /** Its path as the platform has it in its calls: `/opt/ml/models`. */
  readonly named: string;
  /** Its path on this machine. */
  readonly path: string;
  /** Name of their hook files, where it is another than the usual ones. */
  readonly program?: string | undefined;
  /** `-o` options for all its models. */
  readonly options?: RawOptions | undefined;
}

/** A model's folder of versions, or of its files, and its hooks. */
export interface PlatformModel {
  readonly path: string;
  readonly hooks?: string;
}

/**
 * Finds the model of a folder that the platform names. Undefined for one that is not there, is outside the platform's
 * folder, links included, or holds neither one folder of versions nor files. Throws as {@link findHooks}.
 */
export async function findPlatformModel(folder: PlatformFolder, url: string): Promise<PlatformModel | undefined> {
  const path = await locate(folder, url);
  if (path === undefined) return undefined;
  const found = await foldersOfVersions(path, 0).catch(() => []);
  const base = found.length === 0 && (await hasFiles(path)) ? path : found.length === 1 ? found[0] : undefined;
  if (base === undefined) return undefined;
  const hooks = await findHooks(base, { root: await realpath(folder.path), program: folder.program });
  return { path: base, ...(hooks !== undefined && { hooks }) };
}

async function locate({ named, path }: PlatformFolder, url: string): Promise<string | undefined> {
  const below = [named, path].map((root) => relative(root, url)).find(isBelow);
  if (below === undefined || !isAbsolute(url)) return undefined;
  const root = await realpath(path).catch(() => undefined);
  const real = root && (await realpath(join(root, below)).catch(() => undefined));
  return root !== undefined && real !== undefined && isBelow(relative(root, real)) ? real : undefined;
}

/** Checks for a path that stays below the one that it is relative to. */
function isBelow(path: string): boolean {
  return path !== "" && path !== ".." && !path.startsWith("../") && !isAbsolute(path) && !path.includes("\0");
}

async function hasFiles(path: string): Promise<boolean> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries.some((entry) => entry.isFile());
}
