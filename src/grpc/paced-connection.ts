import type { Http2Session, Http2Stream } from "node:http2";
import { isSmallPiece, TurnUse, turns } from "../limits/turns.ts";
import { type ReadSwitch, readSwitchOf } from "../net/node-members.ts";

/** Bytes of the largest frame, with its head. */
const MAX_FRAME_BYTES = 16_384 + 9;

/** A call whose start was deferred to a later turn. */
interface WaitingCall {
  readonly stream: Pick<Http2Stream, "destroyed" | "readableLength">;
  readonly start: () => void;
}

const connections = new WeakMap<Http2Session, PacedConnection>();
/** The open connections. */
const open = new Set<PacedConnection>();
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
  /** Pieces of data and calls that it was notified of. */
  #events = 0;
  /** Bytes of the last piece; a connection of which none is known may send many. */
  #pieceBytes = Number.POSITIVE_INFINITY;
  #isPaused = false;
  /** True when it is no longer read and starts no calls. */
  #isStopped = false;
  /** True while only connections that were not read in the last turn are, and when that was so the last time. */
  #isHeld = false;
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

  /** Reports that a piece of so many bytes took time: the next are read in this turn, or in a later one. */
  took(bytes = this.#pieceBytes): void {
    this.#events++;
    this.#pieceBytes = bytes;
    if (this.#isPaused || turns.begin(this.#use) > 0) return;
    this.#pause();
    // Each further connection would still bring what one read gives.
    if (turns.isOver || turns.areMany) stopReading();
  }

  /** Is not read in the next turn, in which others are. */
  skipTurn(): void {
    if (!this.#isPaused && !this.#isStopped) this.#pause();
  }

  /**
   * Bytes that were received beyond those of the frames that Node reported: calls, and pieces of their messages. Falls
   * where frames were smaller.
   */
  get silentBytes(): number {
    if (this.#session.destroyed) return 0;
    return (this.#session.socket?.bytesRead ?? 0) - this.#events * MAX_FRAME_BYTES;
  }

  /** Starts a call in this turn, or in a later one unless the client resets it before. */
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

  /** Stops reading and starting calls, until it is destroyed; returns false where it was stopped before. */
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
      if (!call.stream.destroyed) call.start();
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
    const mayRead = !this.#session.destroyed && !this.#isPaused && !this.#isStopped && !this.#isHeld;
    if (mayRead) this.#reading?.readStart();
  }

  #release(): void {
    this.#isHeld = false;
    // Others took all of this turn too.
    this.#wasHeld = areStopped;
    if (!areStopped) this.#read();
  }

  /** Stops reading all connections for the rest of this turn. */
  static stopAll(): void {
    for (const connection of open) if (!connection.#isPaused) connection.#reading?.readStop();
  }

  /**
   * Reads all connections again, except those that wait for their own turn: those that have waited longest first, those
   * of this turn and new ones only after the next turn. The system reports first what is left of the connections that
   * were read last, so that clients which send without end would come before all others in each turn.
   */
  static startAll(): void {
    const byTurn = [...open].sort((one, other) => one.#use.turn - other.#use.turn);
    for (const connection of byTurn) {
      connection.#isHeld ||= turns.isLate(connection.#use) && !connection.#wasHeld;
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
