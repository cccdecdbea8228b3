import type { Socket } from "node:net";
import { TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import { sentBytesOf, unsentBytesOf } from "../platform/net/node-members.ts";
import { movedBytesOf } from "../platform/net/sockets.ts";
import type { ServerSession, ServerStream } from "./server-session.ts";
import type { ConnectionRules } from "./session-limits.ts";

/** Bytes of the largest frame that each side may send: after so many, one frame has arrived completely. */
const FRAME_BYTES = 16_384 + 9;

/** Times of pings; absent = the defaults. */
type PingRules = Pick<ConnectionRules, "pingIntervalMs" | "pingTimeoutMs">;

interface Watched {
  readonly session: ServerSession;
  /** Time since which an answer is awaited, on the clock of performance.now(); undefined = none is. */
  awaitedSince: number | undefined;
  /** Bytes received and sent until then. */
  movedBytes: number;
  /** Time of the last answer. */
  answeredAt: number;
}

/**
 * Closes HTTP/2 connections whose clients do not complete the handshake (preface, settings, the answer to those of the
 * server) or leave a later ping without an answer, for example after half a frame. One timer serves all connections.
 */
export class ConnectionWatch {
  readonly #timeoutMs: number;
  readonly #pingTimeoutMs: number;
  readonly #pingIntervalMs: number;
  readonly #watched = new Set<Watched>();
  #timer: NodeJS.Timeout | undefined;

  /** `timeoutMs` limits the handshake and, if the rules have no other limit, the answer to a ping. */
  constructor(
    timeoutMs: number,
    { pingTimeoutMs = timeoutMs, pingIntervalMs = TRANSPORT_LIMITS.pingIntervalMs }: PingRules = {},
  ) {
    this.#timeoutMs = timeoutMs;
    this.#pingTimeoutMs = pingTimeoutMs;
    this.#pingIntervalMs = pingIntervalMs;
  }

  /** Closes a connection that has been ended here, if its client does not end it too in the time for a handshake. */
  limitEnd(socket: Socket): void {
    socket.once("finish", () => {
      const timer = setTimeout(() => socket.destroy(), this.#timeoutMs).unref();
      socket.once("close", () => clearTimeout(timer));
    });
  }

  /** Watches a new connection until it closes. */
  add(session: ServerSession): void {
    const watched: Watched = { session, awaitedSince: performance.now(), movedBytes: 0, answeredAt: 0 };
    this.#watched.add(watched);
    session.once("acknowledged", () => answered(watched));
    session.once("close", () => {
      this.#watched.delete(watched);
      if (this.#watched.size === 0) this.#stop();
    });
    this.#timer ??= setInterval(() => this.#look(), this.#lookEveryMs).unref();
  }

  get #lookEveryMs(): number {
    return Math.min(this.#timeoutMs, this.#pingTimeoutMs, this.#pingIntervalMs) / 8;
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #ping(watched: Watched): void {
    const { session } = watched;
    if (session.destroyed) return;
    session.ping((error) => {
      if (error === null) answered(watched);
    });
  }

  #look(): void {
    // After received data has been read: this thread may have been busy for long.
    setImmediate(() => {
      for (const watched of this.#watched) this.#lookAt(watched);
    });
  }

  #lookAt(watched: Watched): void {
    const now = performance.now();
    const { session, awaitedSince } = watched;
    if (awaitedSince === undefined) {
      if (now - watched.answeredAt < this.#pingIntervalMs) return;
      watched.awaitedSince = now;
      watched.movedBytes = movedBytesOf(session.socket);
      this.#ping(watched);
      return;
    }
    if (now - awaitedSince < (watched.answeredAt === 0 ? this.#timeoutMs : this.#pingTimeoutMs)) return;
    // The ping, or its answer, may be queued behind a large message on a slow connection.
    const moved = movedBytesOf(session.socket);
    if (moved - watched.movedBytes <= FRAME_BYTES) {
      session.destroy();
      return;
    }
    watched.awaitedSince = now;
    watched.movedBytes = moved;
  }
}

function answered(watched: Watched): void {
  watched.awaitedSince = undefined;
  watched.answeredAt = performance.now();
}

/** Time without a byte in either direction after which a connection counts as stuck, in milliseconds; looks in it. */
const [STUCK_MS, LOOKS] = [5000, 5];
/** So many of these times without a byte of those that wait to be sent: a client that sends need not read. */
const UNREAD_TIMES = 4;

const probed = new WeakSet<ServerSession>();

/**
 * Resets a stream whose client does not read; if the whole connection is stuck, the reset does not reach the client,
 * and the connection is ended too. One that is slow goes on: the answer to a ping may wait behind all that it holds.
 */
export function cutStream(stream: ServerStream, code: number, stuckMs = STUCK_MS): void {
  const { session } = stream;
  stream.reset(code);
  if (session.destroyed || probed.has(session)) return;
  probed.add(session);
  const isStuck = watchProgress(session.socket, stuckMs);
  // After received data has been read: this thread may have been busy for long.
  const look = () => setImmediate(() => probed.has(session) && isStuck() && session.destroy());
  const timer = setInterval(look, stuckMs / LOOKS).unref();
  session.ping(() => {
    clearInterval(timer);
    probed.delete(session);
  });
}

/** Begins to watch a connection; returns a check that is true once it is stuck since the checks before. */
function watchProgress(socket: Socket, stuckMs: number): () => boolean {
  let [moved, sent] = [movedBytesOf(socket), sentBytesOf(socket)];
  let movedAt = performance.now();
  let sentAt = movedAt;
  return () => {
    const now = performance.now();
    const before = { moved, sent };
    [moved, sent] = [movedBytesOf(socket), sentBytesOf(socket)];
    if (moved > before.moved) movedAt = now;
    if (sent > before.sent || unsentBytesOf(socket) === 0) sentAt = now;
    return now - movedAt >= stuckMs || now - sentAt >= UNREAD_TIMES * stuckMs;
  };
}
