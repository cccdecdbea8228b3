import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { lstat, readdir, rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { failedPrecondition, reasonText } from "../../errors.ts";

/** A temporary file of this process in its own folder, or such a folder. */
export interface ScratchFile {
  readonly path: string;
  remove(): void;
}

/** Each with what shows that this process lives. */
const folders = new Map<string, Server | undefined>();
let hasCleaned = false;

/**
 * Writes a file that is removed when the process exits, at the latest, or by a later process if this one is killed.
 * Writing and registering are one step, so that a signal leaves no unregistered file.
 * Throws `failed_precondition` if the place for temporary files cannot be written.
 */
export function createScratchFile(name: string, content: Uint8Array): ScratchFile {
  return inScratchFolder((folder) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  });
}

/** Creates an empty private folder that is removed as a {@link createScratchFile} is. */
export function createScratchFolder(): ScratchFile {
  return inScratchFolder((folder) => folder);
}

function inScratchFolder(fill: (folder: string) => string): ScratchFile {
  try {
    const folder = createFolder();
    return { path: fill(folder), remove: () => removeFolder(folder) };
  } catch (cause) {
    const variable = process.platform === "win32" ? "TEMP" : "TMPDIR";
    throw failedPrecondition(
      `${tmpdir()}, the folder for temporary files, cannot be written: ${reasonText(cause)}. Set the environment variable ${variable} to a folder that can be.`,
      cause,
    );
  }
}

/** Removes all of them: for callers that end the process without its exit handlers. */
export function removeScratchFiles(): void {
  for (const folder of folders.keys()) removeFolder(folder);
}

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), `kserving-${process.pid}-`));
  if (folders.size === 0) process.on("exit", removeScratchFiles);
  folders.set(folder, showLife(folder));
  if (!hasCleaned) removeAbandonedFolders(tmpdir()).catch(() => {});
  hasCleaned = true;
  return folder;
}

function removeFolder(folder: string): void {
  folders.get(folder)?.close();
  folders.delete(folder);
  if (folders.size === 0) process.off("exit", removeScratchFiles);
  rmSync(folder, { recursive: true, force: true });
}

/** Private folders of processes of this program, in the folder for temporary files. */
const NAME = /^kserving-\d+-[A-Za-z\d]{6}$/;
/** Age from which a folder may count as abandoned, in milliseconds: a younger one may be about to show its life. */
const MIN_AGE_MS = 60_000;
/** Length of a Unix socket's path on any system, in bytes. */
const MAX_PATH_BYTES = 103;

/**
 * Listens at a socket in a folder for as long as this process lives, which other containers see too if they share the
 * folder: their process numbers say nothing of each other. Undefined if no such socket can be.
 */
function showLife(folder: string): Server | undefined {
  const path = socketIn(folder);
  if (process.platform === "win32" || Buffer.byteLength(path) > MAX_PATH_BYTES) return undefined;
  return createServer((socket) => socket.destroy())
    .on("error", () => {})
    .listen(path)
    .unref();
}

/**
 * Removes the folders of this user's processes that have ended without doing so, as those do that the system kills.
 * A folder stays if nothing proves that its process is gone.
 */
export async function removeAbandonedFolders(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const folder = join(parent, name);
    if (NAME.test(name) && (await isAbandoned(folder))) await rm(folder, { recursive: true, force: true });
  }
}

async function isAbandoned(folder: string): Promise<boolean> {
  const stats = await lstat(folder).catch(() => undefined);
  if (stats === undefined || !stats.isDirectory() || stats.uid !== process.geteuid?.()) return false;
  return Date.now() - stats.mtimeMs > MIN_AGE_MS && isRefused(socketIn(folder));
}

/** True for the socket of an ended process: the connection to one that is not there fails in another way. */
function isRefused(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => resolve(false));
    socket.on("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "ECONNREFUSED"));
    socket.on("connect", () => socket.destroy());
  });
}

/** Named after the start of the system: on a disk of several machines, those of others cannot be asked. */
function socketIn(folder: string): string {
  return join(folder, `.alive${bootId()}`);
}

function bootId(): string {
  try {
    return `-${readFileSync("/proc/sys/kernel/random/boot_id", "latin1").slice(0, 8)}`;
  } catch {
    return "";
  }
}
