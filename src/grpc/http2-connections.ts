import { writeSync } from "node:fs";
import { createServer, type Http2Server, type Http2Session, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { describeConnection } from "../platform/limits/connection-limit.ts";
import { CONNECTION_WINDOW_BYTES, STREAM_WINDOW_BYTES, TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import { carrierSocketOf, hasStreams, idleDescriptorOf, sessionOf } from "../platform/net/node-members.ts";
import { openInTurns } from "../platform/net/open-in-turns.ts";
import { isPassedOn } from "../platform/net/sockets.ts";
import type { ConnectionRules } from "./connection-rules.ts";
import type { ConnectionWatch } from "./connection-watch.ts";
import { LagWatch } from "./connection-watch.ts";
import { endFlood } from "./end-flood.ts";
import { PacedConnection } from "./paced-connection.ts";
import { limitResets } from "./reset-watch.ts";

const MAX_CONCURRENT_CALLS: number = TRANSPORT_LIMITS.concurrentCalls;
/** Time that a connection which the server has ended waits for the client to end it too, in milliseconds. */
const LINGER_MS = 500;

/** An HTTP/2 server that gets its connections from the caller. It counts received data itself, instead of Node. */
export function createHttp2Server(maxConcurrentStreams = MAX_CONCURRENT_CALLS): Http2Server {
  const unbounded = Number.MAX_SAFE_INTEGER;
  const server = createServer({
    settings: {
      initialWindowSize: STREAM_WINDOW_BYTES,
      maxConcurrentStreams,
      maxHeaderListSize: TRANSPORT_LIMITS.metadataBytes,
      enablePush: false,
    },
    maxHeaderListPairs: TRANSPORT_LIMITS.metadataEntries,
    maxSessionMemory: unbounded,
    maxSendHeaderBlockLength: unbounded,
  });
  openInTurns(server, mayHaveData);
  return server;
}

/** True for a connection whose first bytes, a hundred calls maybe, are handled as soon as its session is there. */
function mayHaveData(socket: Socket): boolean {
  return socket instanceof TLSSocket || socket.readableLength > 0;
}

/** The connections of an HTTP/2 server. */
export class Http2Connections {
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #lag = new LagWatch();

  /** `watch` closes the connections of clients that do not answer. */
  constructor(server: Http2Server, watch: ConnectionWatch, rules: ConnectionRules = {}) {
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      watch.limitEnd(socket);
      const isBusy = () => {
        const session = sessionOf(socket);
        return session !== undefined && hasStreams(session) !== false;
      };
      describeConnection(carrierSocketOf(socket), { isBusy, end: () => endIdle(socket) });
      socket.once("close", () => this.#sockets.delete(socket));
    });
    server.on("session", (session) => {
      this.#open(session);
      watch.add(session);
      // A client that has not received the settings yet may begin more calls than they allow.
      limitResets(session, Math.max(rules.maxConcurrentStreams ?? 0, MAX_CONCURRENT_CALLS));
      // The other thread limits that of the client's.
      if (!isPassedOn(session.socket)) limitAge(session, rules);
    });
    // An error of a connection also ends its calls, which are logged.
    server.on("sessionError", ignore);
  }

  /**
   * Asks clients to open other connections for their next calls: at once if that can be told without refusing calls
   * that are on their way, else with the next call. Connections that come later are not asked.
   */
  retire(): void {
    for (const session of this.#sessions) {
      if (session.destroyed || session.pendingSettingsAck || sendRetirement(session)) continue;
      session.once("stream", () => session.close());
    }
  }

  /** Resolves once all connections have closed. Running calls continue. */
  async drain(): Promise<void> {
    for (const session of this.#sessions) session.close();
    for (const socket of this.#sockets) cutOnceEnded(socket);
    await Promise.all(Array.from(this.#sockets, (socket) => new Promise((resolve) => socket.once("close", resolve))));
  }

  /** Destroys all connections. */
  cut(): void {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  #open(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    PacedConnection.of(session);
    this.#lag.add(session);
    session.once("close", () => this.#sessions.delete(session));
    let pings = 0;
    session.on("stream", () => {
      pings = 0;
    });
    session.on("ping", () => {
      if (++pings > TRANSPORT_LIMITS.idlePings) endFlood(session, "too_many_pings");
    });
  }
}

function cutOnceEnded(socket: Socket): void {
  const linger = () => setTimeout(() => socket.destroy(), LINGER_MS).unref();
  if (socket.writableFinished) linger();
  else socket.once("finish", linger);
}

function ignore(): void {}

/** Tells the client before, if there is a session. */
function endIdle(socket: Socket): void {
  const session = sessionOf(socket);
  if (session === undefined) socket.destroy();
  else session.close();
}

/**
 * A GOAWAY frame without an error whose last stream is the greatest possible: all streams are taken (RFC 9113 §6.8).
 */
const FRAME = Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 255, 255, 255, 0, 0, 0, 0]);

/**
 * Tells a client that the connection is about to close and that its calls are still answered, those included that are
 * on their way. Returns false if that cannot be told: the connection is encrypted, or has unsent bytes.
 *
 * Written past Node: after its own `session.goaway()` it would ignore further streams, and it aborts the process when
 * bytes that are not its own have been written to a session's socket.
 */
function sendRetirement(session: Http2Session): boolean {
  const descriptor = session.encrypted === false ? idleDescriptorOf(session.socket) : undefined;
  if (descriptor === undefined) return false;
  try {
    // The system takes so few bytes as a whole, or none.
    return writeSync(descriptor, FRAME) === FRAME.length;
  } catch {
    return false;
  }
}

/** Random share by which the maximum ages of connections differ, as in gRPC. */
const JITTER = 0.1;

type AgeRules = Pick<ConnectionRules, "maxAgeMs" | "maxAgeGraceMs" | "maxIdleMs">;

/**
 * Ends a connection that is too old, once its calls have ended or their grace period has, and one that had no calls for
 * too long.
 */
function limitAge(session: ServerHttp2Session, { maxAgeMs, maxAgeGraceMs, maxIdleMs }: AgeRules): void {
  if (maxAgeMs !== undefined) {
    const ageMs = maxAgeMs * (1 + JITTER * (2 * Math.random() - 1));
    endAfter(session, ageMs, () => {
      session.close();
      if (maxAgeGraceMs !== undefined) endAfter(session, maxAgeGraceMs, () => session.destroy());
    });
  }
  if (maxIdleMs !== undefined) limitIdleness(session, maxIdleMs);
}

function limitIdleness(session: ServerHttp2Session, maxIdleMs: number): void {
  let calls = 0;
  let stop = endAfter(session, maxIdleMs, () => session.close());
  session.on("stream", (stream) => {
    calls++;
    stop();
    stream.once("close", () => {
      if (--calls === 0) stop = endAfter(session, maxIdleMs, () => session.close());
    });
  });
}

/** Calls back after a time, unless the connection closes or the returned function is called before. */
function endAfter(session: ServerHttp2Session, ms: number, end: () => void): () => void {
  if (session.destroyed) return () => {};
  const timer = setTimeout(end, ms).unref();
  const stop = () => {
    clearTimeout(timer);
    session.off("close", stop);
  };
  session.once("close", stop);
  return stop;
}
