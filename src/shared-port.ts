import { createServer, type Server, type Socket } from "node:net";
import { reasonText, ServingError } from "./errors.ts";

/** Who takes the connections of a shared port. */
export interface SharedPortUsers {
  readonly http1: (socket: Socket) => void;
  readonly http2: (socket: Socket) => void;
}

/** A port that listens for two protocols. */
export interface SharedPort {
  readonly port: number;
  /** Takes no new connections; those that were given away live on. */
  close(): void;
}

/** The first bytes of every HTTP/2 connection without TLS (RFC 9113 §3.4), by which it is told from HTTP/1. */
const PREFACE = "PRI";

/** Listens on one port for gRPC and HTTP/1.1, as platforms with one port per container need it. Throws `unavailable` when it cannot listen. */
export async function listenShared(host: string, port: number, users: SharedPortUsers): Promise<SharedPort> {
  const silent = new Set<Socket>();
  const server = createServer((socket) => {
    silent.add(socket);
    const forget = () => silent.delete(socket);
    socket.once("readable", forget);
    socket.once("close", forget);
    tellApart(socket, users);
  });
  await listen(server, host, port);
  const { port: bound } = server.address() as { port: number };
  const close = () => {
    server.close();
    // Nobody else knows of connections that have not said anything yet.
    for (const socket of silent) socket.destroy();
  };
  return { port: bound, close };
}

function tellApart(socket: Socket, { http1, http2 }: SharedPortUsers): void {
  const giveUp = () => socket.destroy();
  socket.once("error", giveUp);
  socket.once("readable", () => {
    const first: Buffer | null = socket.read();
    if (first === null) {
      giveUp();
      return;
    }
    socket.off("error", giveUp);
    socket.unshift(first);
    if (first.toString("latin1", 0, PREFACE.length) === PREFACE) http2(socket);
    else http1(socket);
  });
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    // Stays: an error of a later connection must not end the process.
    server.on("error", (cause: NodeJS.ErrnoException) => {
      const why =
        cause.code === "EADDRINUSE" ? "the port is in use; choose another, or 0 for any free one" : reasonText(cause);
      reject(new ServingError("unavailable", `Cannot listen on ${host}:${port}: ${why}.`, { cause }));
    });
    server.listen(port, host, () => resolve());
  });
}
