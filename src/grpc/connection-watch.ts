import type { Http2Session, ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import type { ConnectionRules } from "./connection-rules.ts";
import { endFlood } from "./end-flood.ts";
import { PacedConnection } from "./paced-connection.ts";

/** Bytes of the largest frame that a client may send: after so many, one frame has arrived completely. */
const FRAME_BYTES = 16_384 + 9;

/** Times of pings; absent = the defaults. */
type PingRules = Pick<ConnectionRules, "pingIntervalMs" | "pingTimeoutMs">;

interface Watched {
  readonly session: ServerHttp2Session;
  /** Time since which an answer is awaited, on the clock of performance.now(); undefined = none is. */
  awaitedSince: number | undefined;
  /** Bytes received until then. */
  bytesRead: number;
  /** Time of the last answer. */
  answeredAt: number;
}

/**
 * Closes HTTP/2 connections whose clients do not complete the handshake (preface, settings, the answer to a first ping)
 * or leave a later ping without an answer, for example after half a frame. One timer serves all connections.
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
  add(session: ServerHttp2Session): void {
    const watched: Watched = { session, awaitedSince: performance.now(), bytesRead: 0, answeredAt: 0 };
    this.#watched.add(watched);
    session.once("remoteSettings", () => this.#ping(watched));
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
      if (error !== null) return;
      watched.awaitedSince = undefined;
      watched.answeredAt = performance.now();
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
      watched.bytesRead = bytesReadOf(session);
      this.#ping(watched);
      return;
    }
    if (now - awaitedSince < (watched.answeredAt === 0 ? this.#timeoutMs : this.#pingTimeoutMs)) return;
    // The answer may be queued behind a large message on a slow connection.
    const bytesRead = bytesReadOf(session);
    if (bytesRead - watched.bytesRead <= FRAME_BYTES) {
      session.destroy();
      return;
    }
    watched.awaitedSince = now;
    watched.bytesRead = bytesRead;
  }
}

function bytesReadOf({ socket }: ServerHttp2Session): number {
  return socket?.bytesRead ?? 0;
}

/** Milliseconds between two looks at the clock, and how late one is when the thread was kept busy for too long. */
const LOOK_MS = 50;
const LATE_MS = 10;
/** Looks for which a connection is watched after one that was late. */
const WATCHED_LOOKS = 20;
/**
 * Bytes of a connection that may have caused no event while the thread was busy: less than one read, of which the
 * headers may take a tenth of a second.
 */
const MAX_SILENT_BYTES = 48 * 1024;

/** A connection as it was at the last look. */
interface Seen {
  silentBytes: number;
  /**
   * The state of its window, which tells how much of that was data of calls that were
   * refused; undefined = it is not watched.
   */
  dataBytes: number | undefined;
  /** Looks for which it is still watched. */
  looks: number;
}

/**
 * Ends connections that keep the thread busy with frames of which Node reports nothing, such as headers that it refuses
 * or ignores: there is no event at which such a connection could be paused. Watches those that had many silent bytes
 * when the thread was late, after the others have been read, and ends those that have them when it is late again.
 */
export class LagWatch {
  readonly #sessions = new Map<Http2Session, Seen>();
  #timer: NodeJS.Timeout | undefined;
  #expectedAt = 0;

  /** Watches a connection until it closes. */
  add(session: Http2Session): void {
    this.#sessions.set(session, { silentBytes: 0, dataBytes: undefined, looks: 0 });
    session.once("close", () => {
      this.#sessions.delete(session);
      if (this.#sessions.size === 0) this.#stop();
    });
    this.#timer ??= this.#start();
  }

  #start(): NodeJS.Timeout {
    this.#expectedAt = performance.now() + LOOK_MS;
    return setInterval(() => this.#look(), LOOK_MS).unref();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const now = performance.now();
    const isLate = now - this.#expectedAt > LATE_MS;
    this.#expectedAt = now + LOOK_MS;
    for (const [session, seen] of this.#sessions) {
      if (isLate || seen.looks > 0) this.#compare(session, seen, isLate);
    }
  }

  #compare(session: Http2Session, seen: Seen, isLate: boolean): void {
    const connection = PacedConnection.of(session);
    const silentBytes = connection?.silentBytes ?? 0;
    const grownBytes = silentBytes - seen.silentBytes;
    const dataBefore = seen.dataBytes;
    const isSuspect = isLate && grownBytes > MAX_SILENT_BYTES;
    seen.silentBytes = silentBytes;
    seen.looks = isSuspect ? WATCHED_LOOKS : Math.max(0, seen.looks - 1);
    seen.dataBytes = seen.looks > 0 ? session.state.effectiveRecvDataLength : undefined;
    if (isSuspect) connection?.skipTurn();
    if (!isSuspect || seen.dataBytes === undefined || dataBefore === undefined) return;
    // It falls when the client is granted a new window: then most of the bytes were data.
    const dataBytes = seen.dataBytes - dataBefore;
    if (dataBytes >= 0 && grownBytes - dataBytes > MAX_SILENT_BYTES) endFlood(session, "too_many_silent_frames");
  }
}
