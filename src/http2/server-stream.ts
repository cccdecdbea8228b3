import type { SentHeaders } from "./hpack-encoder.ts";
import { assertSendable, type ReceivedFields } from "./message-head.ts";
import { ERROR } from "./protocol.ts";
import type { ReceiveWindow } from "./receive-window.ts";

/** Takes the data of a request. Its functions never throw. */
export interface DataReceiver {
  /** Takes bytes that lie between two indexes and are valid only during the call. */
  take(bytes: Buffer, start: number, end: number): void;
  /** The request has come whole. */
  end(): void;
}

/** The session of a stream, as far as its stream needs it. */
export interface StreamOwner {
  /** Sends what the stream has, as soon as it may. */
  ready(stream: ServerStream): void;
  reset(stream: ServerStream, code: number): void;
  /** Grants the client as many bytes again as the program has taken; of a stream that is over, those of all streams. */
  taken(stream: ServerStream, bytes: number): void;
}

type Listener = () => void;

/**
 * A request and its answer on one stream of an HTTP/2 connection: a plain object, whose few events are functions. What
 * is written in one turn is sent together.
 */
export class ServerStream<Owner extends StreamOwner = StreamOwner> {
  readonly id: number;
  readonly session: Owner;
  headersSent = false;
  sentHeaders: SentHeaders | undefined;
  sentTrailers: SentHeaders | undefined;
  /** Trailers of the request; undefined until it has ended, or if it has none. */
  trailers: ReceivedFields | undefined;
  /** True once the answer was sent, or the stream was reset: no more can be sent. */
  closed = false;
  /** True once the system has taken all of the answer, or the stream was reset. */
  destroyed = false;
  /** True if the stream was reset, or its connection has ended, before the answer was sent. */
  aborted = false;
  /** The code of a reset by either side. */
  rstCode: number = ERROR.none;
  /** True once the receiver has got the request's end. */
  readableEnded = false;
  /** Bytes that wait for the receiver. */
  readableLength = 0;

  /** The session's own: windows, and bytes that the content-length has announced and that have not come. */
  readonly receiveWindow: ReceiveWindow;
  sendWindow: number;
  awaitedBytes: number | undefined;
  /** The session's own: true once the client sends no more. */
  isRemoteEnded = false;
  /** The session's own: true while the stream is in its list of those that have something to send. */
  isReady = false;
  /** The session's own: headers to send; data to send, and functions to be called once what is before them is sent. */
  headersToSend: SentHeaders | undefined;
  readonly queue: (Uint8Array | Listener)[] = [];
  /** The session's own: bytes of the first piece that were sent. */
  queueAt = 0;
  /** The session's own: true once nothing is added to the queue. */
  isEnding = false;

  #receiver: DataReceiver | undefined;
  #isFlowing = false;
  #isDraining = false;
  #waiting: Buffer[] = [];
  #onAborted: Listener[] | undefined;
  #onFinish: Listener[] | undefined;
  #onClose: Listener[] | undefined;

  constructor(session: Owner, id: number, windows: { readonly send: number; readonly receive: ReceiveWindow }) {
    this.session = session;
    this.id = id;
    this.sendWindow = windows.send;
    this.receiveWindow = windows.receive;
  }

  /**
   * Calls back when the stream is aborted, when the system has taken the whole answer, or when the stream is over
   * (always, and last). A listener never throws.
   */
  once(event: "aborted" | "finish" | "close", listener: Listener): void {
    if (event === "close") this.#onClose = withOne(this.#onClose, listener);
    else if (event === "finish") this.#onFinish = withOne(this.#onFinish, listener);
    else this.#onAborted = withOne(this.#onAborted, listener);
  }

  /** Gives data to a receiver from now on, and in a microtask that which has come before. */
  receiveInto(receiver: DataReceiver): void {
    this.#receiver = receiver;
    this.resume();
  }

  /** Goes on giving data to the receiver; without one it is discarded. */
  resume(): void {
    this.#isFlowing = true;
    const hasMore = this.readableLength > 0 || (this.isRemoteEnded && !this.readableEnded);
    if (!hasMore || this.#isDraining) return;
    this.#isDraining = true;
    queueMicrotask(() => this.#drain());
  }

  /** Keeps data, of which the client then sends no more than its window. */
  pause(): void {
    this.#isFlowing = false;
  }

  /** Sends the answer's headers; alone, if it has neither data nor trailers. Throws a TypeError for illegal ones. */
  respond(headers: SentHeaders, endStream = false): void {
    if (this.headersSent || this.closed) return;
    assertSendable(headers);
    this.headersSent = true;
    this.sentHeaders = headers;
    this.headersToSend = headers;
    if (endStream) this.isEnding = true;
    this.session.ready(this);
  }

  /** Sends a piece, which must not change until `sent` is called: once the system has taken it. Not called on abort. */
  write(piece: Uint8Array, sent?: Listener): void {
    if (this.closed || this.isEnding) return;
    this.queue.push(piece);
    if (sent !== undefined) this.queue.push(sent);
    this.session.ready(this);
  }

  /** Ends the answer, with a last piece or trailers if there are any. Throws a TypeError for illegal trailers. */
  end(piece?: Uint8Array, trailers?: SentHeaders): void {
    if (this.closed || this.isEnding) return;
    if (trailers !== undefined) assertSendable(trailers);
    if (piece !== undefined) this.queue.push(piece);
    this.sentTrailers = trailers;
    this.isEnding = true;
    this.session.ready(this);
  }

  /** Ends the stream at once (RST_STREAM). */
  reset(code: number): void {
    if (!this.destroyed) this.session.reset(this, code);
  }

  /** To be called by the session with data. */
  receive(bytes: Buffer, start: number, end: number): void {
    if (this.#isFlowing && this.readableLength === 0) {
      this.#give(bytes, start, end);
      return;
    }
    this.#waiting.push(Buffer.from(bytes.subarray(start, end)));
    this.readableLength += end - start;
  }

  /** To be called by the session once the request has ended. */
  receiveEnd(trailers?: ReceivedFields): void {
    this.isRemoteEnded = true;
    this.trailers = trailers;
    if (this.#isFlowing && this.readableLength === 0) this.#giveEnd();
  }

  /** To be called by the session once the system has taken all of the answer. */
  finish(): void {
    if (this.destroyed) return;
    callAll(this.#onFinish);
    this.#destroy();
  }

  /** To be called by the session when the stream ends before its time. */
  abort(code: number): void {
    if (this.destroyed) return;
    this.rstCode = code;
    if (!this.closed) {
      this.closed = true;
      this.aborted = true;
      callAll(this.#onAborted);
    }
    this.#destroy();
  }

  #destroy(): void {
    this.destroyed = true;
    this.closed = true;
    this.queue.length = 0;
    this.#waiting = [];
    const unreadBytes = this.readableLength;
    this.readableLength = 0;
    // The connection's window is that of its other streams too.
    if (unreadBytes > 0) this.session.taken(this, unreadBytes);
    callAll(this.#onClose);
  }

  #drain(): void {
    this.#isDraining = false;
    while (this.#isFlowing && this.readableLength > 0) {
      const piece = this.#waiting.shift() as Buffer;
      this.readableLength -= piece.length;
      this.#give(piece, 0, piece.length);
    }
    const hasEnded = this.isRemoteEnded && this.readableLength === 0;
    if (this.#isFlowing && hasEnded && !this.readableEnded && !this.destroyed) this.#giveEnd();
  }

  #give(bytes: Buffer, start: number, end: number): void {
    this.#receiver?.take(bytes, start, end);
    this.session.taken(this, end - start);
  }

  #giveEnd(): void {
    this.readableEnded = true;
    this.#receiver?.end();
  }
}

function withOne(listeners: Listener[] | undefined, listener: Listener): Listener[] {
  if (listeners === undefined) return [listener];
  listeners.push(listener);
  return listeners;
}

function callAll(listeners: readonly Listener[] | undefined): void {
  if (listeners !== undefined) for (const listener of listeners) listener();
}
