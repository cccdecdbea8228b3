import type { Http2Server, ServerHttp2Session, Settings } from "node:http2";
import type { Socket } from "node:net";
import type { Server } from "@grpc/grpc-js";

/** How much a client may send ahead on one stream, in bytes: HTTP/2's default of 64 KB triples the time of a photo. */
export const STREAM_WINDOW_BYTES = 1024 * 1024;
/** The same for all streams of one connection together. */
export const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;

/** How long a connection that we have ended may wait for the other side to end it too. */
const LINGER_MS = 500;

/** The members of grpc-js' Server that this needs; it offers no public way to its HTTP/2 servers. */
interface ServerInternals {
  commonServerOptions: { settings?: Settings };
  createHttp2Server(credentials: unknown): Http2Server;
}

/** The connections of a server. */
export interface Connections {
  /** Cuts each one that has ended, or ends later, from our side, when the other side does not follow. */
  cutEnded(): void;
  /** Cuts all now. */
  cutAll(): void;
}

/**
 * Widens the flow-control windows of a server that does not listen yet, and keeps track of its connections.
 * Undefined, and nothing changed, if this grpc-js has no place for it.
 */
export function tuneHttp2(server: Server): Connections | undefined {
  const internals = server as unknown as Partial<ServerInternals>;
  const { commonServerOptions: options, createHttp2Server: create } = internals;
  if (typeof options !== "object" || typeof create !== "function") return undefined;
  options.settings = { ...options.settings, initialWindowSize: STREAM_WINDOW_BYTES };
  const sockets = new Set<Socket>();
  internals.createHttp2Server = (credentials) => {
    const http2Server = create.call(internals as ServerInternals, credentials);
    http2Server.on("session", (session: ServerHttp2Session) => session.setLocalWindowSize(CONNECTION_WINDOW_BYTES));
    http2Server.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
    return http2Server;
  };
  return {
    cutEnded() {
      for (const socket of sockets) cutOnceEnded(socket);
    },
    cutAll() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function cutOnceEnded(socket: Socket): void {
  const linger = () => setTimeout(() => socket.destroy(), LINGER_MS).unref();
  if (socket.writableFinished) linger();
  else socket.once("finish", linger);
}
