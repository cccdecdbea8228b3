import type { ServerHttp2Session, Settings } from "node:http2";
import type { Server } from "@grpc/grpc-js";

/** How much a client may send ahead on one stream, in bytes: HTTP/2's default of 64 KB triples the time of a photo. */
export const STREAM_WINDOW_BYTES = 1024 * 1024;
/** The same for all streams of one connection together. */
export const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;

/** The members of grpc-js' Server that this needs; it offers no public way to set a server's windows. */
interface ServerInternals {
  commonServerOptions: { settings?: Settings };
  createHttp2Server(credentials: unknown): Http2Server;
}
interface Http2Server {
  on(event: "session", listener: (session: ServerHttp2Session) => void): unknown;
}

/** Widens the flow-control windows of a server that does not listen yet; false if this grpc-js has no place for it. */
export function widenWindows(server: Server): boolean {
  const internals = server as unknown as Partial<ServerInternals>;
  const { commonServerOptions: options, createHttp2Server: create } = internals;
  if (typeof options !== "object" || typeof create !== "function") return false;
  options.settings = { ...options.settings, initialWindowSize: STREAM_WINDOW_BYTES };
  internals.createHttp2Server = (credentials) => {
    const http2Server = create.call(internals as ServerInternals, credentials);
    http2Server.on("session", (session) => session.setLocalWindowSize(CONNECTION_WINDOW_BYTES));
    return http2Server;
  };
  return true;
}
