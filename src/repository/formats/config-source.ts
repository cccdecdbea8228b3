import { isAbsolute, resolve } from "node:path";
import type { ReadOptions } from "../config/read-fields.ts";

/** The file that is read, and the list of its errors. */
export interface ConfigSource extends ReadOptions {
  /** The folder of the file, to which its relative paths refer. */
  readonly folder: string;
}

/** The absolute path for a path in the file. */
export function pathIn({ folder }: ConfigSource, path: string): string {
  return isAbsolute(path) ? path : resolve(folder, path);
}

/** The reason why models cannot be served from a path; undefined for a local path. */
export function remotePathRefusal(path: string): string | undefined {
  const [, scheme] = /^([A-Za-z][A-Za-z\d+.-]*):\/\//.exec(path) ?? [];
  if (scheme === undefined) return undefined;
  return `${path} is not on this machine, and nothing is read from ${scheme}:// here; copy the model to a folder, or mount one`;
}
