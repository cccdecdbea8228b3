import type { Socket } from "node:net";
import { ServingError } from "../errors.ts";
import { describeConnection } from "../platform/limits/open-connections.ts";
import { HANDSHAKE_TIMEOUT_MS, TRANSPORT_LIMITS, WINDOWS } from "../platform/limits/transport-limits.ts";
import { WorkTurns } from "../platform/limits/work-turns.ts";
import { carrierSocketOf } from "../platform/net/node-members.ts";
import { isPassedOn, movedBytesOf } from "../platform/net/sockets.ts";
import type { ConnectionWatch } from "./connection-watch.ts";
import type { RequestHead } from "./message-head.ts";
import { ERROR } from "./protocol.ts";
import { ServerSession, type ServerStream } from "./server-session.ts";
import type { ConnectionRules, SessionLimits } from "./session-limits.ts";

/** Time that a connection which the server has ended waits for the client to end it too, in milliseconds. */
const LINGER_MS = 500;

/** Called with each new call. */
type OnStream = (stream: ServerStream, head: RequestHead) => void;

/** The HTTP/2 connections of a server, which get their sockets from the caller. */
export class Http2Connections {
  readonly #watch: ConnectionWatch;
  readonly #rules: ConnectionRules;
  readonly #onStream: OnStream;
  readonly #limits: SessionLimits;
  /** Undefined for one that waits for its turn. */
  readonly #sessions = new Map<Socket, ServerSession | undefined>();
  readonly #turn = new WorkTurns();

  /** `watch` closes the connections of clients that do not answer. */
  constructor(watch: ConnectionWatch, rules: ConnectionRules, onStream: OnStream) {
    this.#watch = watch;
    this.#rules = rules;
    this.#onStream = onStream;
    this.#limits = {
      maxConcurrentStreams: rules.maxConcurrentStreams ?? TRANSPORT_LIMITS.concurrentCalls,
      ...WINDOWS,
      maxHeaderBytes: TRANSPORT_LIMITS.metadataBytes,
      maxHeaders: TRANSPORT_LIMITS.metadataEntries,
    };
  }

  /** Begins HTTP/2 on a connection, in this turn of the event loop or in a later one: a thousand may come at once. */
  accept(socket: Socket): void {
    if (socket.destroyed) return;
    this.#sessions.set(socket, undefined);
    socket.on("error", ignore);
    socket.once("close", () => this.#sessions.delete(socket));
    this.#watch.limitEnd(socket);
    describeConnection(carrierSocketOf(socket), {
      isBusy: () => (this.#sessions.get(socket)?.streams.size ?? 0) > 0,
      isWorking: () => this.#streamsOf(socket).some(isWorking),
      movedBytes: () => movedBytesOf(socket),
      end: () => this.#end(socket),
    });
    this.#turn.take(() => {
      if (!socket.destroyed) this.#open(socket);
    });
  }

  /**
   * Asks clients to open other connections for their next calls; calls that are on their way are answered. Connections
   * that come later are not asked, nor are those whose clients may not know yet that they speak HTTP/2 here.
   */
  retire(): void {
    for (const session of this.#sessions.values()) if (session?.pendingSettingsAck === false) session.retire();
  }

  /** Resolves once all connections have closed. Running calls continue. */
  async drain(): Promise<void> {
    for (const [socket, session] of this.#sessions) {
      // One that waits for its turn has no calls yet.
      if (session === undefined) socket.destroy();
      else session.close();
      cutOnceEnded(socket);
    }
    await Promise.all(
      Array.from(this.#sessions.keys(), (socket) => new Promise((resolve) => socket.once("close", resolve))),
    );
  }

  /** Destroys all connections. */
  cut(): void {
    for (const socket of this.#sessions.keys()) socket.destroy();
  }

  #open(socket: Socket): void {
    const session = new ServerSession(socket, this.#limits);
    this.#sessions.set(socket, session);
    this.#watch.add(session);
    // The other thread limits that of the client's. Before the listener that may end a call at once.
    if (!isPassedOn(socket)) limitAge(session, this.#rules);
    session.on("stream", this.#onStream);
  }

  #streamsOf(socket: Socket): readonly ServerStream[] {
    return [...(this.#sessions.get(socket)?.streams.values() ?? [])];
  }

  /** Tells the client before, if there is a session. */
  #end(socket: Socket): void {
    const session = this.#sessions.get(socket);
    if (session === undefined) socket.destroy();
    else if (session.streams.size === 0) session.close();
    else {
      for (const { keeper } of this.#streamsOf(socket)) keeper?.giveUp?.(MAKES_ROOM);
      // Clients look at nothing that comes behind a GOAWAY with an error.
      setImmediate(() => session.fail(ERROR.enhanceYourCalm, MAKES_ROOM.message));
    }
  }
}

/** The error of calls on a connection that others need. */
const MAKES_ROOM = new ServingError(
  "unavailable",
  "The server has no room for more connections, and next to nothing moves on this one; connect again later.",
);

/** A stream whose protocol does not tell is worked on once it has come whole, while nothing waits for the client. */
function isWorking({ keeper, isRemoteEnded, readableLength, queue }: ServerStream): boolean {
  return keeper?.isWorking ?? (isRemoteEnded && readableLength === 0 && queue.length === 0);
}

function cutOnceEnded(socket: Socket): void {
  const linger = () => setTimeout(() => socket.destroy(), LINGER_MS).unref();
  if (socket.writableFinished) linger();
  else socket.once("finish", linger);
}

function ignore(): void {}

/** Random share by which the maximum ages of connections differ, as in gRPC. */
const JITTER = 0.1;

type AgeRules = Pick<ConnectionRules, "maxAgeMs" | "maxAgeGraceMs" | "maxIdleMs" | "pingTimeoutMs">;

/**
 * Ends a connection that is too old, once its calls have ended or their grace period has, and one that had no calls for
 * too long. Calls that are on their way then are taken.
 */
function limitAge(session: ServerSession, rules: AgeRules): void {
  const { maxAgeMs, maxAgeGraceMs, maxIdleMs, pingTimeoutMs = HANDSHAKE_TIMEOUT_MS } = rules;
  const close = () => closeGently(session, pingTimeoutMs);
  if (maxAgeMs !== undefined) {
    const ageMs = maxAgeMs * (1 + JITTER * (2 * Math.random() - 1));
    endAfter(session, ageMs, () => {
      close();
      if (maxAgeGraceMs !== undefined) endAfter(session, maxAgeGraceMs, () => session.destroy());
    });
  }
  if (maxIdleMs !== undefined) limitIdleness(session, maxIdleMs, close);
}

/** Retires a connection, and closes it once its client has answered to that (RFC 9113 §6.8), or after a time. */
function closeGently(session: ServerSession, withinMs: number): void {
  session.retire();
  const stop = endAfter(session, withinMs, () => session.close());
  session.ping(() => {
    stop();
    session.close();
  });
}

function limitIdleness(session: ServerSession, maxIdleMs: number, close: () => void): void {
  let calls = 0;
  let stop = endAfter(session, maxIdleMs, close);
  session.on("stream", (stream) => {
    calls++;
    stop();
    stream.once("close", () => {
      if (--calls === 0) stop = endAfter(session, maxIdleMs, close);
    });
  });
}

/** Calls back after a time, unless the connection closes or the returned function is called before. */
function endAfter(session: ServerSession, ms: number, end: () => void): () => void {
  if (session.destroyed) return () => {};
  const timer = setTimeout(end, ms).unref();
  const stop = () => {
    clearTimeout(timer);
    session.off("close", stop);
  };
  session.once("close", stop);
  return stop;
}
