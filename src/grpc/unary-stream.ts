import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Caller } from "../access/caller.ts";
import { CancelSource } from "../async/cancel-source.ts";
import { ServingError } from "../errors.ts";
import type { MemoryBudget, MemoryShare } from "../limits/memory-budget.ts";
import type { RequestRecord } from "../observability/request-record.ts";
import { readCallHeaders } from "./call-headers.ts";
import type { FramedMessage } from "./framed-message.ts";
import { toGrpcStatus } from "./grpc-errors.ts";
import type { MessageClock } from "./message-clock.ts";
import { isPooled, type MessagePool } from "./message-pool.ts";
import { MessageReader, tooSlow } from "./message-reader.ts";
import { toMetadata } from "./metadata-record.ts";
import { receiveMessage } from "./receive-message.ts";
import type { SendWatch } from "./send-watch.ts";
import {
  abortReason,
  type HandlerContext,
  logFailure,
  SHUTTING_DOWN,
  toCallInfo,
  type UnaryAnswer,
  type UnaryRoute,
} from "./unary-handler.ts";

/** Answers a call on its HTTP/2 stream. */
export type StreamHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, record: RequestRecord) => void;

/** What calls on streams need beside what all handlers share. */
export interface StreamContext extends HandlerContext {
  /** Where the bytes of all requests are counted. */
  readonly memory: MemoryBudget;
  readonly pool: MessagePool;
  /** How long a message may take to come, in milliseconds. */
  readonly messageTimeoutMs: number;
  /** Ends what takes longer. */
  readonly clock: MessageClock;
  readonly sends: SendWatch;
}

/** Makes a method what answers calls on bare HTTP/2 streams: going through grpc-js takes a third of a small request's time. */
export function toStreamHandler(route: UnaryRoute, context: StreamContext): StreamHandler {
  return (stream, headers, record) => {
    const call = new UnaryStream(stream, context);
    const close = context.openCalls.add(() => call.giveUp(SHUTTING_DOWN));
    void call.run(route, headers, record).then(close);
  };
}

const RESPONSE_HEADERS = { ":status": 200, "content-type": "application/grpc+proto" } as const;
/** Without a date, as other gRPC servers answer. */
const WITH_TRAILERS = { waitForTrailers: true, sendDate: false };
const TRAILERS_ALONE = { endStream: true, sendDate: false };
const OK_TRAILERS = { "grpc-status": "0" };
/** The longest timer that there is. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** One call. */
class UnaryStream {
  readonly #stream: ServerHttp2Stream;
  readonly #context: StreamContext;
  readonly #memory: MemoryShare;
  readonly #source = new CancelSource();
  #deadline: number | undefined;
  /** Set once there is an answer, or an error in its place. */
  #endWatch: (() => void) | undefined;
  #isClosed = false;
  /** Whether memory is held for an answer until the stream closes. */
  #isSending = false;

  constructor(stream: ServerHttp2Stream, context: StreamContext) {
    this.#stream = stream;
    this.#context = context;
    this.#memory = context.memory.open();
    // What breaks a stream also closes it, and that is handled below.
    stream.on("error", nothing);
    stream.on("close", () => this.#close());
  }

  /** Reads the message, runs the method and answers; never throws. */
  async run({ kind, method, nesting }: UnaryRoute, headers: IncomingHttpHeaders, record: RequestRecord): Promise<void> {
    const { messageTimeoutMs, clock, maxMessageBytes: maxBytes, pool, policy } = this.#context;
    // A client that sends a byte a minute would hold its memory for ever.
    const endSlow = () => this.giveUp(tooSlow(messageTimeoutMs));
    clock.add(endSlow);
    let timer: NodeJS.Timeout | undefined;
    try {
      const head = readCallHeaders(headers);
      if (kind !== "inference") policy.check(kind, callerOf(this.#stream, headers));
      timer = this.#limitTime(head.deadline);
      const reader = new MessageReader({ maxBytes, memory: this.#memory, pool, nesting });
      const message = await receiveMessage(this.#stream, reader, this.#source);
      clock.delete(endSlow);
      record.received(message.length);
      const info = toCallInfo({ ...head, record }, this.#source, this.#memory);
      const answer = await method(message, info, (asked) => policy.check(asked, callerOf(this.#stream, headers)));
      const isRecycled = this.#memory.isWireOnly && isPooled(message.length);
      this.#send(answer, heldBytes(answer.message, message, isRecycled));
      // Not before the answer is all sent, which may be made of the message's own bytes.
      if (isRecycled) this.#stream.once("finish", () => reader.recycle());
    } catch (reason) {
      logFailure(reason, { rpc: String(headers[":path"]), record }, this.#context.log);
      this.#fail(reason);
    } finally {
      clock.delete(endSlow);
      clearTimeout(timer);
      if (!this.#isSending || this.#isClosed) this.#memory.release();
    }
  }

  /** Answers with an error while the method still runs, and aborts its signal. */
  giveUp(error: ServingError, reason?: DOMException): void {
    this.#fail(error);
    this.#source.abort(reason);
  }

  get #isOver(): boolean {
    const { headersSent, destroyed, closed } = this.#stream;
    return headersSent || destroyed || closed;
  }

  /** Frees what the answer held; aborts the signal where the client left before there was one. */
  #close(): void {
    this.#isClosed = true;
    this.#endWatch?.();
    if (this.#isSending) this.#memory.release();
    if (!this.#stream.headersSent) this.#source.abort(abortReason(this.#deadline));
  }

  /** Aborts the signal when the deadline passes. */
  #limitTime(deadline: number | undefined): NodeJS.Timeout | undefined {
    this.#deadline = deadline;
    if (deadline === undefined || deadline - Date.now() > MAX_TIMEOUT_MS) return undefined;
    const late = () => this.giveUp(new ServingError("deadline_exceeded", "Deadline exceeded"), abortReason(deadline));
    return setTimeout(late, deadline - Date.now());
  }

  /** Throws `unavailable` where there is no room for the bytes that are held until the answer is sent. */
  #send({ message, metadata }: UnaryAnswer, bytes: number): void {
    if (this.#isOver) return;
    this.#memory.setTo(bytes);
    this.#isSending = true;
    const stream = this.#stream;
    this.#endWatch = this.#context.sends.begin(stream, bytes);
    stream.respond(responseHeaders(metadata), WITH_TRAILERS);
    stream.on("wantTrailers", sendTrailers);
    if (message.length > 1) stream.cork();
    const last = message.length - 1;
    for (let index = 0; index < last; index++) stream.write(message[index]);
    stream.end(message[last]);
  }

  /** Answers with an error, unless there was an answer. */
  #fail(reason: unknown): void {
    if (this.#isOver) return;
    const { code, details } = toGrpcStatus(reason);
    const status = { "grpc-status": code, "grpc-message": encodeURI(details) };
    this.#endWatch = this.#context.sends.begin(this.#stream, 0);
    this.#stream.respond({ ...RESPONSE_HEADERS, ...status }, TRAILERS_ALONE);
    // What the client still sends is passed over.
    this.#stream.resume();
  }
}

/** What stays in memory until an answer is sent: its pieces, and the request's message where they are made of it or it will be used again. */
function heldBytes(pieces: FramedMessage, { buffer, length }: Uint8Array, isRecycled: boolean): number {
  let isMessageHeld = isRecycled;
  let bytes = 0;
  for (const piece of pieces) {
    if (piece.buffer === buffer) isMessageHeld = true;
    else bytes += piece.length;
  }
  return isMessageHeld ? bytes + length : bytes;
}

function responseHeaders(metadata: UnaryAnswer["metadata"]): OutgoingHttpHeaders {
  for (const _ in metadata) return { ...RESPONSE_HEADERS, ...toMetadata(metadata).toHttp2Headers() };
  return RESPONSE_HEADERS;
}

function sendTrailers(this: ServerHttp2Stream): void {
  this.sendTrailers(OK_TRAILERS);
}

function callerOf({ session }: ServerHttp2Stream, headers: IncomingHttpHeaders): Caller {
  return { address: session?.socket?.remoteAddress ?? "", host: headers[":authority"] ?? headers.host, headers };
}

function nothing(): void {}
