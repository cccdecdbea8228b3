import type { Http2Session } from "node:http2";
import { endFlood } from "./end-flood.ts";
import { PacedConnection } from "./paced-connection.ts";

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
