import { isAbsolute, resolve } from "node:path";
import type { ReadOptions } from "../config/read-fields.ts";

/** The file that is read, and where what is wrong with it goes. */
export interface ConfigSource extends ReadOptions {
  /** The folder of the file, from which its relative paths go out. */
  readonly folder: string;
}

/** A path of the file as an absolute one. */
export function pathIn({ folder }: ConfigSource, path: string): string {
  return isAbsolute(path) ? path : resolve(folder, path);
}

/** The reason why a path cannot be served from; undefined for a local one. */
export function remotePathRefusal(path: string): string | undefined {
  const [, scheme] = /^([A-Za-z][A-Za-z\d+.-]*):\/\//.exec(path) ?? [];
  if (scheme === undefined) return undefined;
  return `${path} is not on this machine, and nothing is read from ${scheme}:// here; copy the model to a folder, or mount one`;
}
