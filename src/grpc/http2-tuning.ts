import type { Http2Server, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Server } from "@grpc/grpc-js";
import type { AccessLog } from "../observability/access-log.ts";
import { isPlainCall } from "./call-headers.ts";
import { keepRecord, openRecord } from "./call-records.ts";
import type { ConnectionWatch } from "./connection-watch.ts";
import { serverInternals } from "./grpc-internals.ts";
import type { StreamHandler } from "./unary-stream.ts";

/** How much a client may send ahead on one stream, in bytes: HTTP/2's default of 64 KB triples the time of a photo. */
export const STREAM_WINDOW_BYTES = 1024 * 1024;
/** The same for all streams of one connection together. */
export const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;

/** How long a connection that we have ended may wait for the other side to end it too. */
const LINGER_MS = 500;

/** The connections of a server. */
export interface Connections {
  /** Gives the plain calls of a path to a handler, past grpc-js, which keeps compressed ones and those of other paths. */
  divert(path: string, handler: StreamHandler): void;
  /** Cuts each one that has ended, or ends later, from our side, when the other side does not follow. */
  cutEnded(): void;
  /** Cuts all now. */
  cutAll(): void;
}

interface ConnectionRules {
  readonly access: AccessLog;
  /** Closes connections of clients that do not answer. */
  readonly watch: ConnectionWatch;
}

/**
 * Widens the flow-control windows of a server that does not listen yet, and keeps track of its connections.
 * Undefined, and nothing changed, if this grpc-js has no place for it.
 */
export function tuneHttp2(server: Server, { access, watch }: ConnectionRules): Connections | undefined {
  const internals = serverInternals(server);
  if (internals === undefined) return undefined;
  const { commonServerOptions: options, createHttp2Server: create } = internals;
  options.settings = { ...options.settings, initialWindowSize: STREAM_WINDOW_BYTES };
  const sockets = new Set<Socket>();
  const handlers = new Map<string, StreamHandler>();
  internals.createHttp2Server = (credentials) => {
    const http2Server = create.call(internals, credentials);
    divertStreams(http2Server, handlers, access);
    http2Server.on("session", (session: ServerHttp2Session) => {
      session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
      watch.add(session);
    });
    http2Server.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
    return http2Server;
  };
  return {
    divert: (path, handler) => void handlers.set(path, handler),
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

/** Gives the streams of plain calls to their handlers, where they have one; who listens to the server hears of the others only. */
function divertStreams(server: Http2Server, handlers: ReadonlyMap<string, StreamHandler>, access: AccessLog): void {
  const emit = server.emit.bind(server) as (event: string | symbol, ...args: unknown[]) => boolean;
  server.emit = (event: string | symbol, ...args: unknown[]) => {
    if (event !== "stream") return emit(event, ...args);
    const [stream, headers] = args as [ServerHttp2Stream, IncomingHttpHeaders];
    const handler = isPlainCall(headers) ? handlers.get(headers[":path"] ?? "") : undefined;
    const record = openRecord(stream, headers, access);
    if (handler === undefined) {
      keepRecord(stream, record);
      return emit(event, ...args);
    }
    handler(stream, headers, record);
    return true;
  };
}
