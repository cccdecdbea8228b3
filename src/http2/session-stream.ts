import type { ServingError } from "../errors.ts";
import type { SentHeaders } from "./hpack-encoder.ts";
import { assertSendable } from "./message-head.ts";
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
  ready(stream: SessionStream): void;
  reset(stream: SessionStream, code: number): void;
  /** Grants the client as many bytes again as the program has taken; of a stream that is over, those of all streams. */
  taken(stream: SessionStream, bytes: number): void;
}

/** The purpose of a stream. Its functions never throw. */
export interface Keeper {
  /** True while the server works for the client, which it waits for otherwise; absent = that shows in the stream. */
  readonly isWorking?: boolean;
  /** Is told that the number of bytes has changed which wait in the stream for its receiver. */
  kept(): void;
  /** Answers with an error, as far as the stream's protocol has one. */
  giveUp?(error: ServingError): void;
  /** Told of the stream's events before those who listen: a function for each would stay for as long as the stream. */
  aborted?(): void;
  closed?(): void;
}

type Listener = () => void;

const NOTHING = Buffer.alloc(0);
/** Size of memory for small pieces that wait, in bytes; no more than those that wait already. */
const MOST_SHARED_BYTES = 16 * 1024;

/**
 * A request and its answer on one stream of an HTTP/2 connection: a plain object, whose few events are functions. What
 * is written in one turn is sent together. As a server has it; a client sends its request as a server does its answer.
 */
export class SessionStream<Owner extends StreamOwner = StreamOwner> {
  readonly id: number;
  readonly session: Owner;
  headersSent = false;
  sentHeaders: SentHeaders | undefined;
  /** Undefined until all data has been sent that comes before them. */
  sentTrailers: SentHeaders | undefined;
  /** Trailers of the request, each name followed by its value; undefined until it has ended, or if it has none. */
  trailers: readonly string[] | undefined;
  /** True once the answer was sent, or the stream was reset: no more can be sent. */
  closed = false;
  /** True once the system has taken all of the answer; or the stream was reset, and the system has what was sent. */
  destroyed = false;
  /** True if the stream was reset, or its connection has ended, before the answer was sent. */
  aborted = false;
  /** The code of a reset by either side. */
  rstCode: number = ERROR.none;
  /** True once the receiver has got the request's end. */
  readableEnded = false;
  /** Bytes that wait for the receiver. */
  readableLength = 0;
  keeper: Keeper | undefined;

  /** The session's own: windows, and bytes that the content-length has announced and that have not come. */
  readonly receiveWindow: ReceiveWindow;
  sendWindow: number;
  awaitedBytes: number | undefined;
  /** The session's own: true once the client sends no more. */
  isRemoteEnded = false;
  /** The session's own: true while the stream is in its list of those that have something to send. */
  isReady = false;
  /** The session's own: headers to send; data to send, and functions to be called once what is before is sent. */
  interimToSend: SentHeaders | undefined;
  headersToSend: SentHeaders | undefined;
  trailersToSend: SentHeaders | undefined;
  readonly queue: (Uint8Array | Listener)[] = [];
  /** The session's own: bytes of the first piece that were sent. */
  queueAt = 0;
  /** The session's own: true once nothing is added to the queue, and once all of it was given to the socket. */
  isEnding = false;
  isGiven = false;
  /** The session's own: writes to the socket with something of the stream that the system may not have taken. */
  openWrites = 0;
  /** The session's own: true once nothing is received any more. */
  isOver = false;

  #receiver: DataReceiver | undefined;
  #isFlowing = false;
  #isDraining = false;
  #waiting: Buffer[] = [];
  /** Memory of the last piece that waits. */
  #tail = NOTHING;
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
   * Calls back when the stream is aborted, when the system has taken the whole answer, or when the stream is over and
   * its pieces are not used any more (always, and last). A listener never throws.
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

  /** Sends headers of an interim answer (1xx), before the answer's own. Throws a TypeError for illegal ones. */
  inform(headers: SentHeaders): void {
    if (this.headersSent || this.closed) return;
    assertSendable(headers);
    this.interimToSend = headers;
    this.session.ready(this);
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
    if (piece.length > 0) this.queue.push(piece);
    if (sent !== undefined) this.queue.push(sent);
    this.session.ready(this);
  }

  /** Ends the answer, with a last piece or trailers if there are any. Throws a TypeError for illegal trailers. */
  end(piece?: Uint8Array, trailers?: SentHeaders): void {
    if (this.closed || this.isEnding) return;
    if (trailers !== undefined) assertSendable(trailers);
    if (piece !== undefined && piece.length > 0) this.queue.push(piece);
    this.trailersToSend = trailers;
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
    this.#keep(bytes.subarray(start, end));
    this.keeper?.kept();
  }

  /** To be called by the session once the request has ended. */
  receiveEnd(trailers?: readonly string[]): void {
    this.isRemoteEnded = true;
    this.trailers = trailers;
    if (this.#isFlowing && this.readableLength === 0) this.#giveEnd();
  }

  /** To be called by the session once the system has taken what one write had of the stream. */
  written(): void {
    this.openWrites--;
    if (this.openWrites > 0 || this.destroyed) return;
    if (this.isOver) this.#destroy();
    else if (this.isGiven) this.finish();
  }

  /** The system has taken all of the answer. */
  protected finish(): void {
    callAll(this.#onFinish);
    this.#drop();
    this.#destroy();
  }

  /** To be called by the session when the stream ends before its time. */
  abort(code: number): void {
    if (this.isOver) return;
    const isEarly = !this.closed;
    this.rstCode = code;
    this.closed = true;
    this.aborted = isEarly;
    this.#drop();
    if (isEarly) {
      this.keeper?.aborted?.();
      callAll(this.#onAborted);
    }
    // A piece of it may still wait in the socket.
    if (this.openWrites === 0) this.#destroy();
  }

  /** Lets go of what a stream that is over may have to wait for with many others, and that is no use any more. */
  #drop(): void {
    this.isOver = true;
    this.queue.length = 0;
    this.headersToSend = undefined;
    this.trailersToSend = undefined;
    this.#receiver = undefined;
    this.#waiting = [];
    this.#tail = NOTHING;
    const unreadBytes = this.readableLength;
    this.readableLength = 0;
    // The connection's window is that of its other streams too.
    if (unreadBytes === 0) return;
    this.session.taken(this, unreadBytes);
    this.keeper?.kept();
  }

  #destroy(): void {
    this.destroyed = true;
    const listeners = this.#onClose;
    this.#onAborted = this.#onFinish = this.#onClose = undefined;
    this.keeper?.closed?.();
    callAll(listeners);
  }

  /** Small pieces share memory: a client that sends byte by byte would cause an object for each. */
  #keep(piece: Buffer): void {
    const last = this.#waiting.length - 1;
    const used = this.#waiting[last]?.length ?? this.#tail.length;
    if (used + piece.length > this.#tail.length) {
      this.#tail = Buffer.allocUnsafe(Math.max(piece.length, Math.min(this.readableLength, MOST_SHARED_BYTES)));
      this.#waiting.push(this.#tail.subarray(0, piece.length));
      this.#tail.set(piece);
    } else {
      this.#tail.set(piece, used);
      this.#waiting[last] = this.#tail.subarray(0, used + piece.length);
    }
    this.readableLength += piece.length;
  }

  #drain(): void {
    this.#isDraining = false;
    while (this.#isFlowing && this.readableLength > 0) {
      const piece = this.#waiting.shift() as Buffer;
      this.readableLength -= piece.length;
      this.keeper?.kept();
      this.#give(piece, 0, piece.length);
    }
    const hasEnded = this.isRemoteEnded && this.readableLength === 0;
    if (this.#isFlowing && hasEnded && !this.readableEnded && !this.isOver) this.#giveEnd();
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
  // An array that a first item is pushed to gets room for 16 more.
  return listeners === undefined ? [listener] : listeners.concat(listener);
}

function callAll(listeners: readonly Listener[] | undefined): void {
  if (listeners !== undefined) for (const listener of listeners) listener();
}
