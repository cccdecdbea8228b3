import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { failedPrecondition, ServingError } from "../../errors.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";
import { readProblem } from "../../text/read-problem.ts";

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

/** Imports the reader of addresses only where one is needed. */
async function readRemote(address: string): Promise<string> {
  const { readRemoteText } = await import("../../storage/open-address.ts");
  return (await readRemoteText(address)).replace(/^\uFEFF/, "");
}

function unreadable(path: string, problem: string, cause?: unknown): ServingError {
  return failedPrecondition(`The configuration file "${path}" ${problem}; expected a file of text.`, cause);
}
