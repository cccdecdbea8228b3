import { readFileSync } from "node:fs";
import { lstat, readdir, rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";

/** Private folders of processes of this program, in the folder for temporary files. */
const NAME = /^kserving-\d+-[A-Za-z\d]{6}$/;
/** Age from which a folder may count as abandoned, in milliseconds: a younger one may be about to show its life. */
const MIN_AGE_MS = 60_000;
/** Length of a Unix socket's path on any system, in bytes. */
const MAX_PATH_BYTES = 103;

/**
 * Listens at a socket in a folder for as long as this process lives, which other containers see too if they share the
 * folder: their process numbers say nothing of each other. Undefined where no such socket can be.
 */
export function showLife(folder: string): Server | undefined {
  const path = socketIn(folder);
  if (process.platform === "win32" || Buffer.byteLength(path) > MAX_PATH_BYTES) return undefined;
  return createServer((socket) => socket.destroy())
    .on("error", () => {})
    .listen(path)
    .unref();
}

/**
 * Removes the folders of this user's processes that have ended without doing so, as those do that the system kills.
 * A folder stays where nothing proves that its process is gone.
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
