import { constants, type Http2Session, type ServerHttp2Stream } from "node:http2";
import { MessageClock, Timed } from "./message-clock.ts";

/** Time that a connection has to acknowledge a ping after one of its streams was cut, in milliseconds. */
const PROBE_MS = 5000;

/** Cuts the clients of one server that take nothing of their answers, whose memory is counted until they are sent. */
export class SendWatch {
  /** Undefined = clients have all the time they like. */
  readonly #clock: MessageClock | undefined;
  readonly #probed = new WeakSet<Http2Session>();

  /** `timeoutMs`: time for which a client may take nothing; 0 = for ever. */
  constructor(timeoutMs: number) {
    if (timeoutMs > 0) this.#clock = new MessageClock(timeoutMs);
  }

  /** Creates the guard of a stream, which does not run yet. */
  guard(stream: ServerHttp2Stream): SendGuard {
    return new SendGuard(this.#clock, () => this.#cut(stream));
  }

  /** Resets the stream; where the whole connection takes nothing, that does not reach it, and it is ended too. */
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

/** Cuts a stream whose client takes nothing for too long while there is something for it. */
export class SendGuard extends Timed {
  readonly #clock: MessageClock | undefined;

  constructor(clock: MessageClock | undefined, cut: () => void) {
    super(cut);
    this.#clock = clock;
  }

  /** Starts the time again: there is something to take, and the client took what came before. */
  restart(): void {
    this.#clock?.delete(this);
    this.#clock?.add(this);
  }

  /** Stops the time: nothing waits for the client. */
  stop(): void {
    this.#clock?.delete(this);
  }
}
