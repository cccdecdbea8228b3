import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, normalize, posix, win32 } from "node:path";
import { invalidArgument, ServingError } from "../../../errors.ts";
import { createScratchFolder, type ScratchFile } from "../../../platform/user-module/scratch-file.ts";

/** Maximum number of files of a version, and of nested folders. */
const MAX_FILES = 10_000;
const MAX_DEPTH = 32;

/** Names of files that would be executed: hooks, Python, libraries. */
const CODE = /(?:^|[/\\])hooks\.[mc]?[jt]s$|\.(?:py|pyc|so|dll|dylib)(?:\.[\d.]+)?$/i;

/**
 * Writes a client's files for a model into a private temporary folder. Throws `invalid_argument`, with Triton's texts,
 * for a path outside that folder, and for a file that the server would execute.
 */
export async function writeOverrideFiles(files: ReadonlyMap<string, Uint8Array>): Promise<ScratchFile> {
  if (files.size > MAX_FILES) throw invalidArgument(`${files.size} files are given; expected ${MAX_FILES} at most.`);
  for (const path of files.keys()) assertInside(path);
  const folder = createScratchFolder();
  try {
    for (const [path, content] of files) await write(join(folder.path, normalize(path)), path, content);
    return folder;
  } catch (reason) {
    folder.remove();
    throw reason;
  }
}

function assertInside(path: string): void {
  const parts = path.split(/[/\\]/);
  const isAbsolute = posix.isAbsolute(path) || win32.isAbsolute(path) || /^[A-Za-z]:/.test(path);
  if (isAbsolute || parts.includes("..") || path.includes("\0"))
    throw invalidArgument(`${titleOf(path)} must stay within model directory.`);
  if (path.trim() === "" || path.endsWith("/") || parts.length > MAX_DEPTH)
    throw invalidArgument(`${titleOf(path)} names no file; expected file:VERSION/NAME.`);
  if (CODE.test(path))
    throw invalidArgument(`${titleOf(path)} is code, which the server takes from its own files alone.`);
}

/** Only new files, so that a repeated name overwrites none. */
async function write(target: string, path: string, content: Uint8Array): Promise<void> {
  try {
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await writeFile(target, content, { flag: "wx", mode: 0o600 });
  } catch (reason) {
    const { code } = reason as NodeJS.ErrnoException;
    if (code === "EEXIST" || code === "ENOTDIR" || code === "EISDIR")
      throw invalidArgument(`${titleOf(path)}, directory has been created as a file, or the file is given twice.`);
    if (code === "ENAMETOOLONG") throw invalidArgument(`${titleOf(path)} is too long for the file system.`);
    throw new ServingError("internal", `${titleOf(path)} cannot be written (${code}).`, { cause: reason });
  }
}

function titleOf(path: string): string {
  return `Invalid file parameter 'file:${path.slice(0, 200)}'`;
}
