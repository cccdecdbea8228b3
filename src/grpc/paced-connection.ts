import type { Http2Session, Http2Stream } from "node:http2";
import { isSmallPiece, TurnUse, turns } from "../platform/limits/event-loop-turns.ts";
import { type ReadSwitch, readSwitchOf } from "../platform/net/node-members.ts";

/** Bytes of the largest frame, with its head. */
const MAX_FRAME_BYTES = 16_384 + 9;

/** A call whose start was deferred to a later turn. */
interface WaitingCall {
  readonly stream: Pick<Http2Stream, "closed" | "readableLength">;
  readonly start: () => void;
}

const connections = new WeakMap<Http2Session, PacedConnection>();
/** The open connections. */
const open = new Set<PacedConnection>();
/** True while no connection is read, for the rest of a turn. */
let areStopped = false;

/**
 * One HTTP/2 connection, which is not read any further in a turn of the event loop without time left: Node would read
 * two megabytes per turn from each busy socket. Data that was read can begin up to a thousand calls; those for which a
 * turn has no time begin in later ones.
 */
export class PacedConnection {
  readonly #session: Http2Session;
  readonly #reading: ReadSwitch | undefined;
  readonly #use = new TurnUse();
  readonly #waiting: WaitingCall[] = [];
  /** Number of data pieces and calls that Node has reported. */
  #events = 0;
  /** Bytes of the last piece; a connection of which none is known may send many. */
  #pieceBytes = Number.POSITIVE_INFINITY;
  #isPaused = false;
  /** True when it is no longer read and starts no calls. */
  #isStopped = false;
  /** True while it is not read, so that others are read first. */
  #isHeld = false;
  /** True if it was held the last time, so that it is not again. */
  #wasHeld = false;

  private constructor(session: Http2Session) {
    this.#session = session;
    this.#reading = readSwitchOf(session.socket);
    open.add(this);
    if (areStopped) this.#reading?.readStop();
    session.once("close", () => open.delete(this));
  }

  /** The paced connection of a stream's session; undefined for a stream without one. */
  static of(session: Http2Session | undefined): PacedConnection | undefined {
    if (session === undefined || session.destroyed) return undefined;
    let connection = connections.get(session);
    if (connection === undefined) {
      connection = new PacedConnection(session);
      connections.set(session, connection);
    }
    return connection;
  }

  /** To be called before a piece of so many bytes is handled: the next are read in this turn, or in a later one. */
  beginPiece(bytes = this.#pieceBytes): void {
    this.#events++;
    this.#pieceBytes = bytes;
    if (this.#isPaused || turns.begin(this.#use) > 0) return;
    this.#pause();
    // Each further connection would still bring what one read gives.
    if (turns.isOver || turns.hasManyWaiting) stopReading();
  }

  /** Leaves out one turn, in which others are read. */
  skipTurn(): void {
    if (!this.#isPaused && !this.#isStopped) this.#pause();
  }

  /**
   * Received bytes that Node reported nothing of: those beyond the largest frame for each call and piece of data. Falls
   * if frames were smaller.
   */
  get silentBytes(): number {
    if (this.#session.destroyed) return 0;
    return (this.#session.socket?.bytesRead ?? 0) - this.#events * MAX_FRAME_BYTES;
  }

  /** Starts a call in this turn, or in a later one unless the client resets it before. */
  begin(stream: WaitingCall["stream"], start: () => void): void {
    if (this.#isStopped) return;
    this.beginPiece();
    if (stream.closed) return;
    if (this.#waiting.length === 0 && !(this.#isPaused && turns.isOver)) {
      start();
      return;
    }
    this.#waiting.push({ stream, start });
    stopReading();
  }

  /** Stops reading and starting calls, until it is destroyed; returns false if it was stopped before. */
  stop(): boolean {
    if (this.#isStopped) return false;
    this.#isStopped = true;
    this.#waiting.splice(0);
    this.#reading?.readStop();
    return true;
  }

  #pause(): void {
    this.#isPaused = true;
    this.#reading?.readStop();
    this.#wait();
  }

  #wait(): void {
    const isSmall = () => isSmallPiece(Math.max(this.#waiting[0]?.stream.readableLength ?? 0, this.#pieceBytes));
    turns.wait(this.#use, () => this.#goOn(), isSmall);
  }

  #goOn(): void {
    const until = performance.now() + turns.resume(this.#use);
    for (let call = this.#waiting.shift(); call !== undefined; call = this.#waiting.shift()) {
      if (!call.stream.closed) call.start();
      if (performance.now() >= until) break;
    }
    if (this.#waiting.length > 0) {
      this.#wait();
      return;
    }
    this.#isPaused = false;
    if (!areStopped) this.#read();
  }

  #read(): void {
    // After the end of its session too: only reading tells that the client has closed the connection.
    if (!this.#isPaused && !this.#isStopped && !this.#isHeld) this.#reading?.readStart();
  }

  #release(): void {
    this.#isHeld = false;
    // Where reading has stopped again, it is not held another time.
    this.#wasHeld = areStopped;
    if (!areStopped) this.#read();
  }

  /** Stops reading all connections for the rest of this turn. */
  static stopAll(): void {
    for (const connection of open) if (!connection.#isPaused) connection.#reading?.readStop();
  }

  /**
   * Reads all connections again, except those that wait for their own turn: those that have waited longest first. Those
   * of this turn and new ones are held until the next turn has ended: the system reports the connections that were read
   * last before all others, so that clients which send without end would come first in each turn.
   */
  static startAll(): void {
    const byTurn = [...open].sort((one, other) => one.#use.turn - other.#use.turn);
    for (const connection of byTurn) {
      connection.#isHeld ||= turns.comesAfterOthers(connection.#use) && !connection.#wasHeld;
      connection.#wasHeld = false;
      connection.#read();
    }
    const held = byTurn.filter((connection) => connection.#isHeld);
    if (held.length === 0) return;
    setImmediate(() => {
      for (const connection of held) connection.#release();
    });
  }
}

/** No connection is read when the turn has no time left: each one with data could begin a thousand calls. */
function stopReading(): void {
  if (areStopped) return;
  areStopped = true;
  PacedConnection.stopAll();
  turns.onceOver(() => {
    areStopped = false;
    PacedConnection.startAll();
  });
}
