import { constants, type Http2Session, type ServerHttp2Stream } from "node:http2";
import { MessageClock, Timed } from "./message-clock.ts";

/** Time that a connection has to acknowledge a ping after one of its streams was cut, in milliseconds. */
const PROBE_MS = 5000;

/** Resets streams whose clients do not read their answers, which count as memory until they are sent. */
export class SendWatch {
  /** Undefined = no limit. */
  readonly #clock: MessageClock | undefined;
  readonly #probed = new WeakSet<Http2Session>();

  /** `timeoutMs` = time in which a client must read something; 0 = no limit. */
  constructor(timeoutMs: number) {
    if (timeoutMs > 0) this.#clock = new MessageClock(timeoutMs);
  }

  /** Creates the guard of a stream, not started yet. */
  guard(stream: ServerHttp2Stream): SendGuard {
    return new SendGuard(this.#clock, () => this.#cut(stream));
  }

  /**
   * Resets the stream; where the whole connection is stuck, the reset does not reach the client, and the connection is
   * ended too.
   */
  #cut(stream: ServerHttp2Stream): void {
    const { session } = stream;
    stream.close(constants.NGHTTP2_CANCEL);
    if (session === undefined || session.destroyed || this.#probed.has(session)) return;
    this.#probed.add(session);
    const timer = setTimeout(() => session.destroy(), PROBE_MS).unref();
    const isSent = session.ping(() => {
      clearTimeout(timer);
      this.#probed.delete(session);
    });
    if (!isSent) session.destroy();
  }
}

/** Resets a stream whose client reads nothing for too long while data waits for it. */
export class SendGuard extends Timed {
  readonly #clock: MessageClock | undefined;

  constructor(clock: MessageClock | undefined, cut: () => void) {
    super(cut);
    this.#clock = clock;
  }

  /** Restarts the time: data waits for the client, and the client has read the data before it. */
  restart(): void {
    this.#clock?.delete(this);
    this.#clock?.add(this);
  }

  /** Stops the time: no data waits for the client. */
  stop(): void {
    this.#clock?.delete(this);
  }
}
