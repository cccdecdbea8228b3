import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { sep } from "node:path";
import { failedPrecondition, reasonText, ServingError } from "../../../errors.ts";
import { readProblem } from "../../../platform/text/file-problem.ts";
import { claimPath } from "../../../storage/local-name.ts";
import { filePath, isRemoteAddress, REMOTE_SCHEMES, schemeOf, toPlace } from "../../../storage/remote-address.ts";
import type { ReadOptions } from "./read-fields.ts";

/** The file that is read, and the list of its errors. */
export interface ConfigSource extends ReadOptions {
  /** The folder of the file, to which its relative paths refer. */
  readonly folder: string;
}

/** The absolute path for a path in the file; an address stays as it is. */
export function pathIn({ folder }: ConfigSource, path: string): string {
  return toPlace(claimPath(path), folder);
}

/**
 * The reason why models cannot be served from a path; undefined for a local path, and for an address that can be read.
 */
export function remotePathRefusal(path: string): string | undefined {
  const scheme = schemeOf(filePath(path));
  if (scheme === "pvc") return claimRefusal(path);
  if (scheme === undefined || isRemoteAddress(path)) return undefined;
  const known = REMOTE_SCHEMES.map((each) => `${each}://`).join(", ");
  return `${path} is not on this machine, and nothing is read from ${scheme}:// here; expected ${known} or a folder`;
}

function claimRefusal(path: string): string | undefined {
  try {
    claimPath(path);
    return undefined;
  } catch (reason) {
    return reasonText(reason).replace(/\.$/, "");
  }
}

/** Maximum size of a configuration file, in bytes: no user writes larger ones. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Reads a configuration file. Throws `failed_precondition` for one that cannot be read, is not a file or is over 16 MB.
 * A pipe is not waited for.
 */
export async function readConfigText(path: string): Promise<string> {
  if (isRemoteAddress(path)) return readRemote(path);
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = await file.stat();
      if (!stat.isFile()) throw unreadable(path, stat.isDirectory() ? "is a folder" : "is not a regular file");
      if (stat.size > MAX_BYTES) throw unreadable(path, `has ${stat.size} bytes, more than ${MAX_BYTES}`);
      return (await file.readFile("utf8")).replace(/^\uFEFF/, "");
    } finally {
      await file.close();
    }
  } catch (reason) {
    if (reason instanceof ServingError) throw reason;
    throw unreadable(path, readProblem(reason), reason);
  }
}

/** Imports the reader of addresses only if one is needed. */
async function readRemote(address: string): Promise<string> {
  const { readRemoteText } = await import("../../../storage/open-address.ts");
  return (await readRemoteText(address)).replace(/^\uFEFF/, "");
}

function unreadable(path: string, problem: string, cause?: unknown): ServingError {
  return failedPrecondition(`The configuration file "${path}" ${problem}; expected a file of text.`, cause);
}

/** A path made by `toPath` that keeps its final slash: `logs/` is a folder, `logs/a` the prefix of file names. */
export function prefixPath(prefix: string, toPath: (path: string) => string): string {
  const path = toPath(prefix);
  return /[/\\]$/.test(prefix) && !path.endsWith(sep) ? `${path}${sep}` : path;
}
