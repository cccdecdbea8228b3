import { TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import { uint32s } from "./frame-output.ts";
import type { FrameHead } from "./frame-reader.ts";
import { ERROR, FLAG, FRAME } from "./protocol.ts";
import type { SessionStream } from "./session-stream.ts";
import type { SessionWriter } from "./session-writer.ts";

/**
 * Most streams whose late frames are known as such: as many as a client may have at once that begins calls before it
 * has read the settings, since more of them would be useless frames.
 */
const MAX_REMEMBERED = 2048;

/** Most requests that wait for their reset. */
const MOST_WAITING = 1000;

const { lateBytes: MOST_LATE_BYTES } = TRANSPORT_LIMITS;

/** Time for the rest of an answered request to come, before its client is asked, in milliseconds. */
const PATIENCE_MS = 100;

/** The session of requests that are answered early. */
interface EarlyOwner {
  /** Calls back once the other side has read all that was sent before. */
  ping(read: () => void): void;
  /** Resets a request that its client has not ended. */
  resetUnended(id: number): void;
}

/** A request that its client goes on sending. */
interface Unfinished {
  readonly stream: SessionStream;
  /** Bytes that its client was granted since the answer. */
  grantedBytes: number;
  /** Bytes that have come since the answer: until now, and until the client was last seen to have read it. */
  lateBytes: number;
  knownBytes: number;
}

/**
 * Requests that were answered before they had ended: a client need not send the rest (RFC 9113 §8.1). They are reset
 * once it has read the answer: one of node:http2 with much to send never learns of an answer that it reads together
 * with the reset. A client that goes on sending may do so for some megabytes, which all such requests of a connection
 * share: what one of node:http2 had still to send counts as memory of its connection for ever, and from 10 MB on that
 * refuses all answers.
 */
export class EarlyAnswers {
  readonly #owner: EarlyOwner;
  readonly #writer: Pick<SessionWriter, "send">;
  #waiting: Unfinished[] = [];
  readonly #byId = new Map<number, Unfinished>();
  #isPinging = false;
  /** Bytes that may still be granted, until one of the requests ends. */
  #leftBytes: number = MOST_LATE_BYTES;

  constructor(owner: EarlyOwner, writer: Pick<SessionWriter, "send">) {
    this.#owner = owner;
    this.#writer = writer;
  }

  /** Adds a stream whose answer is being sent. */
  add(stream: SessionStream): void {
    const request = { stream, grantedBytes: 0, lateBytes: 0, knownBytes: 0 };
    this.#byId.set(stream.id, request);
    if (this.#waiting.push(request) > MOST_WAITING) for (const each of this.#waiting.splice(0)) this.#reset(each);
    if (this.#isPinging) return;
    this.#isPinging = true;
    // Most requests end soon after their answers.
    setTimeout(() => this.#ping(), PATIENCE_MS).unref();
  }

  /** The streams, whose windows still count. */
  *streams(): Iterable<SessionStream> {
    for (const { stream } of this.#byId.values()) yield stream;
  }

  /** A stream that was answered and has not ended. */
  get(id: number): SessionStream | undefined {
    return this.#byId.get(id)?.stream;
  }

  /**
   * Counts data of a stream that was answered, of which so much is padding; returns the code of its error, if it is
   * more than its client was granted, or has said to send. One that ends sooner has learned of the answer.
   */
  late({ id, length, flags }: FrameHead, paddingBytes: number): number | undefined {
    const request = this.#byId.get(id);
    if (request === undefined) return undefined;
    const { stream } = request;
    request.lateBytes += length;
    if (stream.awaitedBytes !== undefined) stream.awaitedBytes -= length - paddingBytes;
    const isGranted = stream.receiveWindow.receive(length);
    if ((flags & FLAG.endStream) !== 0) this.forget(id);
    else this.taken(id, length);
    if (!isGranted) return ERROR.flowControl;
    return (stream.awaitedBytes ?? 0) < 0 ? ERROR.protocol : undefined;
  }

  /** Counts bytes of such a stream that are discarded; its client is granted as many again while some are left. */
  taken(id: number, bytes: number): void {
    const request = this.#byId.get(id);
    const granted = request?.stream.receiveWindow.take(bytes, this.#leftBytes) ?? 0;
    if (request === undefined || granted === 0) return;
    request.grantedBytes += granted;
    this.#leftBytes -= granted;
    this.#writer.send(FRAME.windowUpdate, 0, id, uint32s(granted));
  }

  /** Leaves a stream to its session; returns true if it was answered and had not ended. */
  forget(id: number): boolean {
    this.#leftBytes += this.#byId.get(id)?.grantedBytes ?? 0;
    return this.#byId.delete(id);
  }

  #ping(): void {
    const requests = this.#waiting.splice(0).filter(({ stream: { id } }) => this.#byId.has(id));
    this.#isPinging = requests.length > 0;
    if (!this.#isPinging) return;
    // Data may come together with the sign that the answer was read.
    this.#owner.ping(() => setImmediate(() => this.#read(requests)));
  }

  #read(requests: readonly Unfinished[]): void {
    for (const request of requests) {
      const { lateBytes, knownBytes } = request;
      request.knownBytes = lateBytes;
      if (lateBytes > knownBytes) this.#waiting.push(request);
      else this.#reset(request);
    }
    this.#ping();
  }

  /** Nothing is to be done once the client has ended it. */
  #reset({ stream: { id } }: Unfinished): void {
    if (this.forget(id)) this.#owner.resetUnended(id);
  }
}

/**
 * Streams that were reset before the client had ended them: frames that it sent before it knew may still come. The
 * oldest are forgotten.
 */
export class ResetStreams {
  /** True for those that the client reset itself, and that it was not told of since. */
  readonly #byId = new Map<number, boolean>();

  add(id: number, byClient: boolean): void {
    this.#byId.set(id, byClient);
    if (this.#byId.size > MAX_REMEMBERED) this.#byId.delete(this.#byId.keys().next().value as number);
  }

  /** To be called when the client has ended a stream: no more frames of it come. */
  delete(id: number): void {
    this.#byId.delete(id);
  }

  /** True if a frame of the stream may still come. */
  has(id: number): boolean {
    return this.#byId.has(id);
  }

  /** True if a stream was reset here. */
  wasResetHere(id: number): boolean {
    return this.#byId.get(id) === false;
  }

  /**
   * Takes a late frame; returns true if the client is to be told once, since it reset the stream itself: clients of
   * Netty then still send data that was queued.
   */
  isToBeTold(id: number): boolean {
    const isToBeTold = this.#byId.get(id) === true;
    if (isToBeTold) this.#byId.set(id, false);
    return isToBeTold;
  }
}
