import type { Socket } from "node:net";
import { createServer, type Server, type TLSSocket, type TlsOptions } from "node:tls";
import { markLocal } from "../access/network-address.ts";
import type { TlsCredentials } from "../access/tls-files.ts";
import { answerHttp1 } from "../grpc/refuse-http1.ts";
import { HANDSHAKE_TIMEOUT_MS, TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import { type ListenPlace, listen } from "../platform/net/listen.ts";
import { stoppedAt } from "../platform/net/node-members.ts";
import { openInTurns } from "../platform/net/open-in-turns.ts";
import type { SharedPort, SharedPortUsers } from "../platform/net/shared-port.ts";
import { destroyAfter } from "../platform/net/sockets.ts";
import { listenUnix } from "../platform/net/unix-socket.ts";
import { beginHandshakes } from "./begin-handshakes.ts";

/** A port that listens for encrypted connections. */
export interface TlsPort extends SharedPort {
  /** To be given new credentials. */
  readonly server: Pick<Server, "setSecureContext">;
}

/** Users of an encrypted port; a client whose protocol has no user is refused in its handshake. */
export interface TlsPortUsers extends Partial<Pick<SharedPortUsers, "http1" | "http2" | "connections">> {
  readonly credentials: TlsCredentials;
  /** Called after a handshake that failed. */
  readonly onRefused: (reason: Error, socket: Socket) => void;
}

/**
 * Listens for TLS 1.2 and 1.3; the client's ALPN distinguishes gRPC from HTTP/1.1,
 * which counts where it offers both, or nothing. Clients need a certificate where there
 * is an authority for theirs. Throws `unavailable` when it cannot listen.
 */
export async function listenTls(place: ListenPlace, users: TlsPortUsers): Promise<TlsPort> {
  const server = createTlsServer(users);
  const handshakes = new Set<Socket>();
  server.prependListener("connection", (socket: Socket) => {
    handshakes.add(socket);
    socket.once("close", () => handshakes.delete(socket));
  });
  server.prependListener("secureConnection", (socket) => {
    for (const each of handshakes) if (isUnder(each, socket)) handshakes.delete(each);
  });
  openInTurns(server);
  const bound = await listen(server, place, users.connections);
  const close = (graceMs = 0) => {
    server.close();
    destroyAfter(handshakes, graceMs);
  };
  return { ...bound, server, close };
}

/** Listens on a Unix socket as {@link listenTls} does on a port; its clients are programs of this machine. */
export async function listenTlsUnix(
  path: string,
  users: TlsPortUsers,
  takesOver?: boolean,
): Promise<Omit<TlsPort, "host" | "port">> {
  const server = createTlsServer(users);
  server.prependListener("secureConnection", markLocal);
  const socket = await listenUnix(path, (connection) => void server.emit("connection", connection), {
    takesOver,
    connections: users.connections?.ofSidePort?.(TRANSPORT_LIMITS.unixConnections),
  });
  return { server, close: () => socket.close() };
}

function createTlsServer(users: TlsPortUsers): Server {
  const { http1, http2, onRefused } = users;
  const server = createServer(toOptions(users));
  beginHandshakes(server, (socket) => {
    onRefused(new Error("http request"), socket);
    answerHttp1(socket, "400 Bad Request", "This port is encrypted; expected TLS: https:// in place of http://.");
  });
  endStopped(server);
  server.on("secureConnection", (socket) => {
    const use = socket.alpnProtocol === "h2" ? http2 : http1;
    if (use !== undefined) return void use(socket);
    // One that offers no protocol at all; TLS itself refuses others.
    onRefused(new Error("no application protocol"), socket);
    socket.destroy();
  });
  server.on("tlsClientError", (reason, socket) => {
    onRefused(reason, socket);
    socket.destroy();
  });
  return server;
}

function toOptions({ http1, http2, credentials }: TlsPortUsers): TlsOptions {
  const needsClient = credentials.ca !== undefined;
  return {
    ...credentials,
    // The first one that the client offers too: curl and browsers offer both, gRPC's clients h2 alone.
    ALPNProtocols: [...(http1 === undefined ? [] : ["http/1.1"]), ...(http2 === undefined ? [] : ["h2"])],
    minVersion: "TLSv1.2",
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    requestCert: needsClient,
    rejectUnauthorized: needsClient,
  };
}

/** Checks if a connection is the one that an encrypted one goes over. */
function isUnder(socket: Socket, { remoteAddress, remotePort }: TLSSocket): boolean {
  return socket.remotePort === remotePort && socket.remoteAddress === remoteAddress;
}

/** Milliseconds between two looks. */
const LOOK_MS = 2000;

/**
 * Ends a TLS server's connections that will never send again. Where a client resets its connection and the first write
 * that fails is one of TLS itself, such as a session ticket, Node tells no one, waits for that write for ever, and
 * the connection takes all that is written to it, but sends nothing and is never closed.
 */
export function endStopped(server: Pick<Server, "on">, lookMs = LOOK_MS): void {
  const open = new Map<TLSSocket, number | undefined>();
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    for (const [socket, before] of open) {
      const sent = stoppedAt(socket);
      // A write that was done in this turn is reported in a later one.
      if (sent !== undefined && sent === before) socket.destroy();
      else if (sent !== before) open.set(socket, sent);
    }
  };
  server.on("secureConnection", (socket: TLSSocket) => {
    open.set(socket, undefined);
    timer ??= setInterval(look, lookMs).unref();
    socket.once("close", () => {
      open.delete(socket);
      if (open.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    });
  });
}
