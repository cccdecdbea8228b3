import { chmodSync, lstatSync, rmSync, unlinkSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { reasonText, ServingError } from "../errors.ts";
import { keepSocket, takeKept } from "./kept-sockets.ts";

/** Maximum length of a path, in bytes: `sun_path` of Linux and of macOS, without the final zero. */
const MAX_PATH_BYTES = process.platform === "linux" ? 107 : 103;
/** Permission to read and write, for the owner and the group. */
const MODE = 0o660;

/** A Unix socket that listens. */
export interface UnixSocket {
  /** Takes no more connections and removes the file. */
  close(): void;
}

/**
 * Listens on a Unix socket; replaces the file of an ended server. Throws `unavailable` for a path that is too long or
 * in use, or where no socket can be created.
 */
export async function listenUnix(path: string, onConnection: (socket: Socket) => void): Promise<UnixSocket> {
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_PATH_BYTES) {
    throw cannotListen(
      path,
      `the path has ${bytes} bytes, and a socket's may have ${MAX_PATH_BYTES}; choose a shorter one`,
    );
  }
  const title = `unix:${path}`;
  const fd = takeKept(title);
  if (fd === undefined) await removeStale(path);
  const server = createServer(onConnection);
  await new Promise<void>((resolve, reject) => {
    server.on("error", (cause) => reject(cannotListen(path, reasonText(cause), cause)));
    server.listen(fd === undefined ? { path } : { fd }, resolve);
  });
  if (fd !== undefined) return { close: () => void server.close(() => rmSync(path, { force: true })) };
  chmodSync(path, MODE);
  await keepSocket(title, server);
  return { close: () => void server.close() };
}

/** Removes the socket of an ended server. */
async function removeStale(path: string): Promise<void> {
  const file = lstatSync(path, { throwIfNoEntry: false });
  if (file === undefined) return;
  if (!file.isSocket()) throw cannotListen(path, "a file of that name exists and is not a socket; remove it");
  if (await answers(path)) throw cannotListen(path, "another server listens there; stop it, or choose another path");
  unlinkSync(path);
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", (cause: NodeJS.ErrnoException) => {
      if (cause.code === "ECONNREFUSED" || cause.code === "ENOENT") resolve(false);
      else reject(cannotListen(path, reasonText(cause), cause));
    });
  });
}

function cannotListen(path: string, why: string, cause?: unknown): ServingError {
  return new ServingError("unavailable", `Cannot listen on the Unix socket ${path}: ${why}.`, { cause });
}
