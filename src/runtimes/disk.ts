import { statfs } from "node:fs/promises";
import { failedPrecondition, ServingError } from "../errors.ts";
import { megabytes } from "../text/megabytes.ts";

/** Throws `resource_exhausted` when the disk of a folder has too little room. */
export async function checkSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < bytes) throw diskFull(`${megabytes(bytes)} are needed, ${megabytes(bavail * bsize)} are free`);
}

/** Meanings of failed writes, by system error code. */
const MEANINGS: Readonly<Record<string, string>> = {
  EACCES: "this user may not write there",
  EPERM: "this user may not write there, or a running server uses the files",
  EBUSY: "a running server uses the files; stop it first",
  EROFS: "it is read-only",
  ENOTDIR: "a part of the path is a file",
};

/**
 * Converts a failure to write in a folder to `resource_exhausted` or `failed_precondition` with the remedy; returns
 * other errors unchanged.
 */
export function toDiskError(reason: unknown, folder: string): unknown {
  const { code = "" } = (reason ?? {}) as NodeJS.ErrnoException;
  if (reason instanceof ServingError) return reason;
  if (code === "ENOSPC" || code === "EDQUOT") return diskFull("nothing was installed", reason);
  const meaning = MEANINGS[code];
  if (meaning === undefined) return reason;
  const message = `The folder ${folder} cannot be written: ${meaning}. Choose another with --dir DIR or KSERVING_RUNTIMES_DIR.`;
  return failedPrecondition(message, reason);
}

function diskFull(details: string, cause?: unknown): ServingError {
  const message = `The disk of the runtimes folder is full: ${details}. Make room, or choose another folder with --dir DIR or KSERVING_RUNTIMES_DIR.`;
  return new ServingError("resource_exhausted", message, cause === undefined ? {} : { cause });
}
