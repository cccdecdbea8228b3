import type { Http2Session, Http2Stream } from "node:http2";
import { TurnUse, turns } from "../limits/turns.ts";

/** A socket's handle in Node: it stops and starts to read below the HTTP/2 session that has taken the socket over. */
interface ReadHandle {
  readStop(): void;
  readStart(): void;
}

/** A call that was asked for in a turn that had no time for it. */
interface WaitingCall {
  readonly stream: Pick<Http2Stream, "destroyed">;
  readonly start: () => void;
}

const connections = new WeakMap<Http2Session, PacedConnection>();
/** Those that are open. */
const open = new Set<PacedConnection>();
let areStopped = false;

/**
 * One HTTP/2 connection, which is read no further in a turn of the event loop that has no time left for it: of each socket with
 * much to read Node would take two megabytes per turn. What has been read asks for a thousand calls at most; those that a turn
 * has no time for are started in later ones.
 */
export class PacedConnection {
  readonly #session: Http2Session;
  readonly #handle: ReadHandle | undefined;
  readonly #use = new TurnUse();
  readonly #waiting: WaitingCall[] = [];
  #isPaused = false;
  /** It is not read any more, and starts no calls. */
  #isStopped = false;

  private constructor(session: Http2Session) {
    this.#session = session;
    const { _handle: handle } = session.socket as { readonly _handle?: Partial<ReadHandle> };
    if (typeof handle?.readStop === "function") this.#handle = handle as ReadHandle;
    open.add(this);
    session.once("close", () => open.delete(this));
  }

  /** The same for all streams of a session; undefined for a stream without one. */
  static of(session: Http2Session | undefined): PacedConnection | undefined {
    if (session === undefined || session.destroyed) return undefined;
    let connection = connections.get(session);
    if (connection === undefined) {
      connection = new PacedConnection(session);
      connections.set(session, connection);
    }
    return connection;
  }

  /** Says that something came that takes time: the next bytes are read in this turn, or in a later one. */
  took(): void {
    if (this.#isPaused || turns.begin(this.#use) > 0) return;
    this.#isPaused = true;
    this.#handle?.readStop();
    turns.wait(this.#use, () => this.#goOn());
  }

  /** Starts a call in this turn, or in a later one unless the client has reset it by then. */
  begin(stream: WaitingCall["stream"], start: () => void): void {
    if (this.#isStopped) return;
    this.took();
    if (this.#waiting.length === 0 && !(this.#isPaused && turns.isOver)) {
      start();
      return;
    }
    this.#waiting.push({ stream, start });
    stopReading();
  }

  /** Reads nothing more and starts no calls, until it is destroyed; returns false where it has been stopped before. */
  stop(): boolean {
    if (this.#isStopped) return false;
    this.#isStopped = true;
    this.#waiting.splice(0);
    this.#handle?.readStop();
    return true;
  }

  #goOn(): void {
    const until = performance.now() + turns.resume(this.#use);
    for (let call = this.#waiting.shift(); call !== undefined; call = this.#waiting.shift()) {
      if (!call.stream.destroyed) call.start();
      if (performance.now() >= until) break;
    }
    if (this.#waiting.length > 0) {
      turns.wait(this.#use, () => this.#goOn());
      return;
    }
    this.#isPaused = false;
    if (!areStopped) this.#read();
  }

  #read(): void {
    if (!this.#session.destroyed && !this.#isPaused && !this.#isStopped) this.#handle?.readStart();
  }

  /** For all connections: none has its bytes read in the rest of this turn. */
  static stopAll(): void {
    for (const connection of open) connection.#handle?.readStop();
  }

  /** The reverse of {@link stopAll}, but for those that wait for a turn of their own. */
  static startAll(): void {
    for (const connection of open) connection.#read();
  }
}

/** A turn that is over reads nothing: each connection that has something would bring a thousand calls more. */
function stopReading(): void {
  if (areStopped) return;
  areStopped = true;
  PacedConnection.stopAll();
  setImmediate(() => {
    areStopped = false;
    PacedConnection.startAll();
  });
}
