import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { failedPrecondition, ServingError } from "../errors.ts";
import { readProblem } from "../platform/text/file-problem.ts";

/** An open file, and its size. */
export interface OpenFile {
  readonly file: FileHandle;
  readonly size: number;
}

/**
 * Opens a file; throws `failed_precondition`, naming the file by `what`, for one that cannot be read. A pipe is not
 * waited for.
 */
export async function openRegularFile(path: string, what: string): Promise<OpenFile> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((reason) => {
    throw unreadable(what, readProblem(reason), reason);
  });
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw unreadable(what, stat.isDirectory() ? "is a folder" : "is not a regular file");
    return { file, size: stat.size };
  } catch (reason) {
    await file.close();
    throw readError(what, reason);
  }
}

/** Opens a file for `read`, and closes it; throws as {@link openRegularFile}. */
export async function withRegularFile<Result>(
  path: string,
  what: string,
  read: (open: OpenFile) => Promise<Result>,
): Promise<Result> {
  const opened = await openRegularFile(path, what);
  try {
    return await read(opened);
  } catch (reason) {
    throw readError(what, reason);
  } finally {
    await opened.file.close();
  }
}

/** The error for a file that could not be read to its end; a ServingError is returned unchanged. */
export function readError(what: string, reason: unknown): ServingError {
  return reason instanceof ServingError ? reason : unreadable(what, readProblem(reason), reason);
}

function unreadable(what: string, problem: string, cause?: unknown): ServingError {
  return failedPrecondition(`${what} ${problem}; expected a file.`, cause);
}
