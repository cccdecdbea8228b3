import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { CancelSource } from "../async/cancel-source.ts";
import { ServingError } from "../errors.ts";
import type { MemoryBudget, MemoryShare } from "../limits/memory-budget.ts";
import { readCallHeaders } from "./call-headers.ts";
import { toGrpcStatus } from "./grpc-errors.ts";
import type { MessageClock } from "./message-clock.ts";
import { isPooled, type MessagePool } from "./message-pool.ts";
import { MessageReader, tooSlow } from "./message-reader.ts";
import { toMetadata } from "./metadata-record.ts";
import { receiveMessage } from "./receive-message.ts";
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
export type StreamHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/** What calls on streams need beside what all handlers share. */
export interface StreamContext extends HandlerContext {
  /** Where the bytes of all requests are counted. */
  readonly memory: MemoryBudget;
  readonly pool: MessagePool;
  /** How long a message may take to come, in milliseconds. */
  readonly messageTimeoutMs: number;
  /** Ends what takes longer. */
  readonly clock: MessageClock;
}

/** Makes a method what answers calls on bare HTTP/2 streams: going through grpc-js takes a third of a small request's time. */
export function toStreamHandler(route: UnaryRoute, context: StreamContext): StreamHandler {
  return (stream, headers) => {
    const call = new UnaryStream(stream, context);
    const close = context.openCalls.add(() => call.giveUp(SHUTTING_DOWN));
    void call.run(route, headers).then(close);
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

  constructor(stream: ServerHttp2Stream, context: StreamContext) {
    this.#stream = stream;
    this.#context = context;
    this.#memory = context.memory.open();
    // What breaks a stream also closes it, and that is heard of.
    stream.on("error", nothing);
  }

  /** Reads the message, runs the method and answers; never throws. */
  async run({ method, nesting }: UnaryRoute, headers: IncomingHttpHeaders): Promise<void> {
    const { messageTimeoutMs, clock, maxMessageBytes: maxBytes, pool } = this.#context;
    // A client that sends a byte a minute would hold its memory for ever.
    const endSlow = () => this.giveUp(tooSlow(messageTimeoutMs));
    clock.add(endSlow);
    let timer: NodeJS.Timeout | undefined;
    try {
      const head = readCallHeaders(headers);
      timer = this.#watch(head.deadline);
      const reader = new MessageReader({ maxBytes, memory: this.#memory, pool, nesting });
      const message = await receiveMessage(this.#stream, reader, this.#source);
      clock.delete(endSlow);
      const info = toCallInfo(head, this.#source, this.#memory);
      this.#send(await method(message, info, () => peerOf(this.#stream)));
      // Not before the answer is all sent, which may be made of the message's own bytes.
      if (this.#memory.isWireOnly && isPooled(message.length)) this.#stream.once("finish", () => reader.recycle());
    } catch (reason) {
      logFailure(reason, String(headers[":path"]), this.#context.log);
      this.#fail(reason);
    } finally {
      clock.delete(endSlow);
      clearTimeout(timer);
      this.#memory.release();
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

  /** Aborts the signal when the client is gone or its deadline passes. */
  #watch(deadline: number | undefined): NodeJS.Timeout | undefined {
    this.#stream.on("close", () => {
      if (!this.#stream.headersSent) this.#source.abort(abortReason(deadline));
    });
    if (deadline === undefined || deadline - Date.now() > MAX_TIMEOUT_MS) return undefined;
    const late = () => this.giveUp(new ServingError("deadline_exceeded", "Deadline exceeded"), abortReason(deadline));
    return setTimeout(late, deadline - Date.now());
  }

  #send({ message, metadata }: UnaryAnswer): void {
    if (this.#isOver) return;
    const stream = this.#stream;
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
    this.#stream.respond({ ...RESPONSE_HEADERS, ...status }, TRAILERS_ALONE);
    // What the client still sends is passed over.
    this.#stream.resume();
  }
}

function responseHeaders(metadata: UnaryAnswer["metadata"]): OutgoingHttpHeaders {
  for (const _ in metadata) return { ...RESPONSE_HEADERS, ...toMetadata(metadata).toHttp2Headers() };
  return RESPONSE_HEADERS;
}

function sendTrailers(this: ServerHttp2Stream): void {
  this.sendTrailers(OK_TRAILERS);
}

function peerOf({ session }: ServerHttp2Stream): string {
  const { remoteAddress = "unknown", remotePort } = session?.socket ?? {};
  return remotePort === undefined ? remoteAddress : `${remoteAddress}:${remotePort}`;
}

function nothing(): void {}
