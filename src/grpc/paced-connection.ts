import type { Http2Session } from "node:http2";
import { TurnUse, turns } from "../limits/turns.ts";

/** A socket's handle in Node: it stops and starts to read below the HTTP/2 session that has taken the socket over. */
interface ReadHandle {
  readStop(): void;
  readStart(): void;
}

const connections = new WeakMap<Http2Session, PacedConnection>();

/**
 * One HTTP/2 connection, which is read no further in a turn of the event loop that has no time left for it: of each socket with
 * much to read Node would take two megabytes per turn.
 */
export class PacedConnection {
  readonly #session: Http2Session;
  readonly #handle: ReadHandle | undefined;
  readonly #use = new TurnUse();
  #isPaused = false;

  private constructor(session: Http2Session) {
    this.#session = session;
    const { _handle: handle } = session.socket as { readonly _handle?: Partial<ReadHandle> };
    if (typeof handle?.readStop === "function") this.#handle = handle as ReadHandle;
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
    turns.wait(this.#use, () => {
      this.#isPaused = false;
      if (!this.#session.destroyed) this.#handle?.readStart();
    });
  }
}
