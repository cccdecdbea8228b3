import type { Http2Session } from "node:http2";
import { endFlood } from "./end-flood.ts";
import { PacedConnection } from "./paced-connection.ts";

/** Milliseconds between two looks at the clock, and how late one is when the thread was kept busy for too long. */
const LOOK_MS = 50;
const LATE_MS = 25;
/** Bytes of a connection that may have caused no event while the thread was busy. */
const MAX_SILENT_BYTES = 256 * 1024;

/** A connection as it was at the last look. */
interface Seen {
  silentBytes: number;
  /** The state of its window, which tells how much of that was data of calls that were refused; undefined = it did not matter. */
  dataBytes: number | undefined;
}

/**
 * Ends connections that keep the thread busy with frames of which Node tells nothing, such as headers that it refuses or
 * ignores: there is no event at which such a connection could be paused. Looks at them only after the thread was late.
 */
export class LagWatch {
  readonly #sessions = new Map<Http2Session, Seen>();
  #timer: NodeJS.Timeout | undefined;
  #expectedAt = 0;
  #wasLate = false;

  /** Watches a connection until it closes. */
  add(session: Http2Session): void {
    this.#sessions.set(session, { silentBytes: 0, dataBytes: undefined });
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
    this.#wasLate = false;
  }

  /** Compares where the look before was late too: what a connection received then counts, and not what it ever did. */
  #look(): void {
    const now = performance.now();
    const isLate = now - this.#expectedAt > LATE_MS;
    this.#expectedAt = now + LOOK_MS;
    if (isLate) for (const [session, seen] of this.#sessions) this.#compare(session, seen);
    this.#wasLate = isLate;
  }

  #compare(session: Http2Session, seen: Seen): void {
    const silentBytes = PacedConnection.of(session)?.silentBytes ?? 0;
    const grownBytes = silentBytes - seen.silentBytes;
    const dataBefore = seen.dataBytes;
    seen.silentBytes = silentBytes;
    seen.dataBytes = grownBytes > MAX_SILENT_BYTES ? session.state.effectiveRecvDataLength : undefined;
    if (!this.#wasLate || seen.dataBytes === undefined || dataBefore === undefined) return;
    // It falls when the client is granted a new window: then most of the bytes were data.
    const dataBytes = seen.dataBytes - dataBefore;
    if (dataBytes >= 0 && grownBytes - dataBytes > MAX_SILENT_BYTES) endFlood(session, "too_many_silent_frames");
  }
}
