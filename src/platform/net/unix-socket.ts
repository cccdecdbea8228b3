import { randomBytes } from "node:crypto";
import { chmodSync, lstatSync, renameSync, unlinkSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { reasonText, ServingError } from "../../errors.ts";
import { keepSocket, type PortLimit, takeKept } from "./listen.ts";

/** Maximum length of a path, in bytes: `sun_path` of Linux and of macOS, without the final zero. */
const MAX_PATH_BYTES = process.platform === "linux" ? 107 : 103;
/** Permission to read and write, for the owner and the group. */
const MODE = 0o660;

/** A Unix socket that listens. */
export interface UnixSocket {
  /** Takes no more connections and removes the file. */
  close(): void;
}

/** Choices of a Unix socket. */
export interface UnixSocketOptions {
  /** True if it takes the path over from a server that listens there. Default false. */
  readonly takesOver?: boolean | undefined;
  /** Limit of its connections. Default: there is none. */
  readonly connections?: PortLimit | undefined;
}

/**
 * Listens on a Unix socket; replaces the file of an ended server, and with `takesOver` that of one that listens, which
 * keeps its connections. Throws `unavailable` for a path that is too long or in use, or if no socket can be created.
 */
export async function listenUnix(
  path: string,
  onConnection: (socket: Socket) => void,
  { takesOver = false, connections }: UnixSocketOptions = {},
): Promise<UnixSocket> {
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_PATH_BYTES) {
    throw cannotListen(
      path,
      `the path has ${bytes} bytes, and a socket's may have ${MAX_PATH_BYTES}; choose a shorter one`,
    );
  }
  const title = `unix:${path}`;
  const fd = takeKept(title);
  if (fd === undefined) await checkPlace(path, takesOver);
  const server = createServer(onConnection);
  connections?.guard(server);
  const bound = ownPath(path);
  await new Promise<void>((resolve, reject) => {
    server.on("error", (cause) => reject(cannotListen(path, reasonText(cause), cause)));
    server.listen(fd === undefined ? { path: bound } : { fd }, resolve);
  });
  if (fd === undefined) {
    chmodSync(bound, MODE);
    renameSync(bound, path);
    await keepSocket(title, server);
  }
  const ino = inodeOf(path);
  return { close: () => close(server, path, ino) };
}

/**
 * A path beside the socket's, which is bound, and then given its name: so clients meet one server or the other, and a
 * server that closes removes no other's file, as Node does with the path that it bound.
 */
function ownPath(path: string): string {
  const beside = join(dirname(path), `.${randomBytes(3).toString("hex")}`);
  return Buffer.byteLength(beside) > MAX_PATH_BYTES ? `${path.slice(0, -1)}~` : beside;
}

function close(server: Server, path: string, ino: number | undefined): void {
  server.close();
  // Another server may have taken the path over.
  if (ino !== undefined && inodeOf(path) === ino) unlinkSync(path);
}

/** Undefined if there is no file. */
function inodeOf(path: string): number | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.ino;
}

/** Throws for a path that is another server's, or no socket's. */
async function checkPlace(path: string, takesOver: boolean): Promise<void> {
  const file = lstatSync(path, { throwIfNoEntry: false });
  if (file === undefined) return;
  if (!file.isSocket()) throw cannotListen(path, "a file of that name exists and is not a socket; remove it");
  if (takesOver || !(await answers(path))) return;
  throw cannotListen(
    path,
    "another server listens there; stop it, choose another path, or take it over (--grpc-socket-takeover)",
  );
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
