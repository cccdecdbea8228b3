import type { Server as NetServer, Socket } from "node:net";
import { createServer, type Server, type TLSSocket, type TlsOptions } from "node:tls";
import { markLocal } from "../access/network-address.ts";
import type { TlsCredentials } from "../access/tls-files.ts";
import { answerHttp1, isHttp1 } from "../grpc/refuse-http1.ts";
import { HANDSHAKE_TIMEOUT_MS, TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import { WorkTurns } from "../platform/limits/work-turns.ts";
import { type ListenPlace, listen } from "../platform/net/listen.ts";
import { stoppedAt } from "../platform/net/node-members.ts";
import { openInTurns } from "../platform/net/open-in-turns.ts";
import type { SharedPort, SharedPortUsers } from "../platform/net/shared-port.ts";
import { destroyAfter } from "../platform/net/sockets.ts";
import { listenUnix } from "../platform/net/unix-socket.ts";

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
 * Listens for TLS 1.2 and 1.3; the client's ALPN distinguishes HTTP/2 from HTTP/1.1,
 * which counts if it offers both, or nothing. Clients need a certificate if there
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
    // The first one that the client offers too: curl and browsers offer both, and HTTP/1.1 costs less; gRPC's clients
    // offer h2 alone.
    ALPNProtocols: [...(http1 === undefined ? [] : ["http/1.1"]), ...(http2 === undefined ? [] : ["h2"])],
    minVersion: "TLSv1.2",
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    noDelay: true,
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
 * Ends a TLS server's connections that will never send again. If a client resets its connection and the first write
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

type Begin = (socket: Socket) => void;

/** The first byte of TLS: a handshake record; then a version of two bytes and the record's length (RFC 8446 §5.1). */
const HANDSHAKE = 0x16;
const LENGTH_AT = 3;
const HEAD_BYTES = 5;
/** A longer record is refused by TLS itself. */
const MAX_RECORD_BYTES = 16_640;

/**
 * Lets a TLS server begin handshakes in turns with all other work: each takes up to a millisecond of computing keys,
 * which Node does as soon as it has read the client's first record. So connections become TLS only once that record is
 * there. To be called before other listeners for connections are added; a client that does not send it in time is given
 * up as one that does not finish its handshake. `refusePlain` gets connections that begin a request of HTTP/1 instead;
 * without it TLS refuses them.
 */
export function beginHandshakes(server: NetServer, refusePlain?: (socket: Socket) => void): void {
  const turn = new WorkTurns();
  const listeners = server.listeners("connection") as Begin[];
  server.removeAllListeners("connection");
  const begin = (socket: Socket, first: Buffer) => {
    if (socket.destroyed) return;
    if (refusePlain !== undefined && isHttp1(first)) return refusePlain(socket);
    for (const listener of listeners) listener.call(server, socket);
  };
  server.on("connection", (socket: Socket) => {
    // No other code listens for its errors until its turn.
    socket.on("error", ignore);
    const giveUp = (reason: Error) => server.emit("tlsClientError", reason, socket);
    awaitRecord(socket, { giveUp, begin: (first) => turn.take(() => begin(socket, first)) });
  });
}

interface Waiter {
  readonly begin: (first: Buffer) => void;
  readonly giveUp: (reason: Error) => void;
}

function awaitRecord(socket: Socket, { begin, giveUp }: Waiter): void {
  let first = Buffer.alloc(0);
  const refuse = (reason: Error) => {
    stop();
    giveUp(reason);
  };
  const leave = (reason: Error) => {
    if (first.length > 0) return refuse(reason);
    // A probe of the port, as load balancers and clusters send them, is not a client that fails.
    stop();
    socket.destroy();
  };
  const end = () => leave(new Error("the client closed the connection before its handshake"));
  const look = () => {
    const more: Buffer | null = socket.read();
    if (more === null) return;
    first = Buffer.concat([first, more]);
    if (!isWhole(first)) return;
    stop();
    socket.unshift(first);
    begin(first);
  };
  const timer = setTimeout(
    // After received data has been read: this thread may have been busy for long.
    () => setImmediate(() => !isWhole(first) && refuse(new Error("TLS handshake timeout"))),
    HANDSHAKE_TIMEOUT_MS,
  ).unref();
  const stop = () => {
    clearTimeout(timer);
    socket.off("readable", look).off("end", end).off("error", leave).off("close", stop);
  };
  socket.on("readable", look).on("end", end).on("error", leave).on("close", stop);
}

/** True for a whole record, and for what cannot be one. */
function isWhole(bytes: Buffer): boolean {
  if (bytes.length > 0 && bytes[0] !== HANDSHAKE) return true;
  if (bytes.length < HEAD_BYTES) return false;
  return bytes.length >= Math.min(MAX_RECORD_BYTES, HEAD_BYTES + bytes.readUInt16BE(LENGTH_AT));
}

function ignore(): void {}
