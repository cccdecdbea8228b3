import type { ServingError } from "../errors.ts";
import { cutStream } from "../http2/connection-watch.ts";
import { ERROR } from "../http2/protocol.ts";
import type { ServerStream } from "../http2/server-session.ts";
import type { Transfer } from "../platform/limits/overload-manager.ts";
import { MessageClock, Timed } from "./message-clock.ts";

/** Resets streams whose clients do not read their answers, which count as memory until they are sent. */
export class SendWatch {
  /** Undefined = no limit. */
  readonly #clock: MessageClock | undefined;

  /** `timeoutMs` = time in which a client must read something; 0 = no limit. */
  constructor(timeoutMs: number) {
    if (timeoutMs > 0) this.#clock = new MessageClock(timeoutMs);
  }

  /** Creates the guard of a stream, not started yet. */
  guard(stream: ServerStream): SendGuard {
    return new SendGuard(this.#clock, (code) => cutStream(stream, code));
  }
}

/** Resets a stream whose client reads nothing for too long while data waits for it, or is too slow. */
export class SendGuard extends Timed implements Transfer {
  /** Bytes that the client has taken. */
  movedBytes = 0;
  /** Bytes that wait for the client, or will do so: no more than a message. */
  leftBytes = 0;
  /** Those that were given to the stream, which reports the end of them together. */
  stepBytes = 0;
  readonly #clock: MessageClock | undefined;

  constructor(clock: MessageClock | undefined, cut: (code: number) => void) {
    // The code for `resource_exhausted`: a status would wait behind what the client has to take.
    super((error?: ServingError) => cut(error === undefined ? ERROR.cancel : ERROR.enhanceYourCalm));
    this.#clock = clock;
  }

  /** True while data waits for the client. */
  get isClientsTurn(): boolean {
    return this.stepBytes > 0;
  }

  /** Restarts the time: `bytes` wait for the client, and it has taken those before. */
  restart(bytes = 0): void {
    this.movedBytes += this.stepBytes;
    this.leftBytes = Math.max(this.leftBytes - this.stepBytes, bytes);
    this.stepBytes = bytes;
    this.#clock?.delete(this);
    this.#clock?.add(this);
  }

  /** Counts bytes that wait for the client behind others, if there are any. */
  add(bytes: number): void {
    if (this.stepBytes === 0) this.#clock?.add(this);
    this.leftBytes += bytes;
    this.stepBytes += bytes;
  }

  /** Restarts the time: the client has taken some of what waits. */
  take(bytes: number): void {
    this.movedBytes += bytes;
    this.leftBytes -= bytes;
    this.stepBytes -= bytes;
    this.#clock?.delete(this);
    if (this.stepBytes > 0) this.#clock?.add(this);
  }

  /** Stops the time: no data waits for the client. */
  stop(): void {
    this.movedBytes += this.stepBytes;
    this.leftBytes = 0;
    this.stepBytes = 0;
    this.#clock?.delete(this);
  }
}
