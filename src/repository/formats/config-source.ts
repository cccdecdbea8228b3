import { reasonText } from "../../errors.ts";
import { claimPath } from "../../storage/local-name.ts";
import { filePath, isRemoteAddress, REMOTE_SCHEMES, schemeOf, toPlace } from "../../storage/remote-address.ts";
import type { ReadOptions } from "../config/read-fields.ts";

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
