import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { type ErrorCode, invalidArgument, ServingError } from "../errors.ts";

const { O_RDWR, O_NOFOLLOW, O_NONBLOCK } = constants;

/** An open file, and its size in bytes. */
interface OpenObject {
  readonly fd: number;
  readonly bytes: number;
}

/**
 * Opens the file of a shared memory object; `key` = its name for errors. Never follows a link nor waits. Throws
 * `not_found`, `permission_denied` or `invalid_argument` where there is no object that this process may read and write.
 */
export function openObject(file: string, key: string): OpenObject {
  const fd = open(file, key);
  const stats = fstatSync(fd);
  if (stats.isFile()) return { fd, bytes: stats.size };
  closeSync(fd);
  throw invalidArgument(`Unable to open shared memory region: '${key}' is not a shared memory object.`);
}

function open(file: string, key: string): number {
  try {
    return openSync(file, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    const [status, why] = REASONS[code] ?? OTHERWISE;
    throw new ServingError(status, `Unable to open shared memory region: '${key}': ${why}.`, { cause });
  }
}

const REASONS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ENOENT: ["not_found", "the server's machine has no such object, or its container does not share it"],
  EACCES: ["permission_denied", "the server's user may not read and write it"],
};
const OTHERWISE = ["invalid_argument", "it is not a shared memory object"] as const;
