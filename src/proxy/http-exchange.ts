import type { IncomingMessage, ServerResponse } from "node:http";
import type { MediaFetcher } from "../access/media-fetcher.ts";
import { invalidArgument, type ServingError } from "../errors.ts";
import type { RequestRecord } from "../observability/request-record.ts";
import { CancelSource } from "../platform/async/cancel-source.ts";
import { decodeInThread, encodeInParts, encodeInThread } from "../platform/codec-host/codec-jobs.ts";
import type { Job } from "../platform/codec-host/job.ts";
import { deadlinePassed, MAX_TIMER_MS } from "../platform/limits/call-limits.ts";
import type { MemoryBudget } from "../platform/limits/memory/memory-budget.ts";
import { returnMemory } from "../platform/limits/memory/memory-pool.ts";
import type { MemoryShare } from "../platform/limits/memory/memory-share.ts";
import type { Transfer } from "../platform/limits/overload-manager.ts";
import { StreamTurns } from "../platform/limits/stream-turns.ts";
import { SMALL_REQUEST_BYTES } from "../platform/limits/transport-limits.ts";
import { resetConnection, sentBytesOf, unsentBytesOf } from "../platform/net/node-members.ts";
import { peerName } from "../platform/net/sockets.ts";
import { arrivedCall, type CallOptions } from "../serving/inference-service.ts";
import { ObservedRequest } from "./observed-request.ts";
import { readBody } from "./read-body.ts";
import { StreamSocket } from "./stream-socket.ts";

/** Shared by all requests, to avoid a stack trace for each. */
const CLOSED = new DOMException("The client closed the connection.", "AbortError");

/** Limits of a request. */
interface ExchangeLimits {
  readonly maxMessageBytes: number;
  readonly memory: MemoryBudget;
  readonly inParts?: AnswersInParts | undefined;
  readonly media?: MediaFetcher | undefined;
}

/** Ends each answer in parts that is under way with an error. */
export type AnswersInParts = Set<(reason: ServingError) => void>;

/** One HTTP request as seen by handlers. */
export class HttpExchange {
  readonly request: IncomingMessage;
  /** Facts about the request for the log. */
  readonly record: RequestRecord;
  /** Maximum size of the body and of the values decoded from it. */
  readonly maxMessageBytes: number;
  /** Fetches images and sound that a request has as addresses; absent = that is not done. */
  readonly media: MediaFetcher | undefined;
  readonly #memory: MemoryShare;
  readonly #response: ServerResponse;
  readonly #cancel = new CancelSource();
  readonly #inParts: AnswersInParts | undefined;
  #isClosed = false;
  #isInParts = false;
  /** True while memory is held for an answer, until the response closes. */
  #isSending = false;
  /** Pieces of the answer whose memory is returned once it has been sent. */
  #toReturn: readonly Uint8Array[] = [];

  constructor(request: IncomingMessage, response: ServerResponse, limits: ExchangeLimits) {
    const { maxMessageBytes, memory, inParts, media } = limits;
    this.#inParts = inParts;
    this.request = request;
    this.record = ObservedRequest.recordOf(request);
    this.#response = response;
    this.maxMessageBytes = maxMessageBytes;
    this.media = media;
    this.#memory = memory.open();
    const { socket } = request;
    if (socket instanceof StreamSocket) socket.countKept(this.#memory);
    // The client may have left while what answers was loaded.
    this.#isClosed = response.closed;
    if (this.#isClosed) this.#cancel.abort(CLOSED);
    // Not "once", which would create another closure: it is called only once anyway.
    response.on("close", () => {
      this.#isClosed = true;
      if (this.#isSending) this.#releaseSent();
      if (response.writableFinished) {
        for (const { buffer } of this.#toReturn) returnMemory(buffer);
        return;
      }
      // A thousand answers in parts may be left at once, each of which has much to end.
      const turn = this.#isInParts ? StreamTurns.end(this.#memory.client.number) : undefined;
      if (turn === undefined) this.#cancel.abort(CLOSED);
      else void turn.then(() => this.#cancel.abort(CLOSED));
    });
  }

  /** Media type of the body, lower-case, without parameters; empty if the client sends none. */
  get mediaType(): string {
    const [type = ""] = (this.request.headers["content-type"] ?? "").split(";", 1);
    return type.trim().toLowerCase();
  }

  /** The whole body, inflated; `alignedAt` = offset of its binary numbers, which are to be aligned in memory. */
  readBody(alignedAt = 0): Promise<Buffer> {
    return this.#read(this.maxMessageBytes, alignedAt);
  }

  /** The body of a small request, such as one that changes settings; more than 64 KB are refused. */
  readSmallBody(): Promise<Buffer> {
    return this.#read(Math.min(SMALL_REQUEST_BYTES, this.maxMessageBytes), 0);
  }

  /** Decodes a large body in a codec thread, to which its memory is transferred. */
  decode<Args extends readonly unknown[], Result>(
    job: Job<Args, Result>,
    args: Args,
    body: Uint8Array,
  ): Promise<Result> {
    return this.#decode(job, args, { message: body, growth: JSON_GROWTH });
  }

  /** As {@link decode}, for a form whose file becomes nothing else, and whose texts are short. */
  decodeForm<Args extends readonly unknown[], Result>(
    job: Job<Args, Result>,
    args: Args,
    body: Uint8Array,
  ): Promise<Result> {
    return this.#decode(job, args, { message: body, growth: FORM_GROWTH });
  }

  #decode<Args extends readonly unknown[], Result>(
    job: Job<Args, Result>,
    args: Args,
    decoded: { readonly message: Uint8Array; readonly growth: number },
  ): Promise<Result> {
    const own = { maxBytes: this.maxMessageBytes, signal: this.#cancel, memory: this.#memory };
    return decodeInThread(job, args, { ...decoded, ...own });
  }

  /**
   * Encodes a large answer in a codec thread, to which its tensors are transferred
   * unless hooks of this thread may have kept them.
   */
  encode<Args extends readonly unknown[], Result>(job: Job<Args, Result>, args: Args): Promise<Result> {
    return encodeInThread(job, args, { signal: this.#cancel, memory: this.#memory, form: "text" });
  }

  /**
   * Parts of a very large answer in order: bytes that are there, and arguments of a job, which codec threads encode
   * while the parts before are being sent.
   */
  encodeParts<Args extends readonly unknown[]>(
    job: Job<readonly [...Args, room: Uint8Array], Uint8Array>,
    parts: Iterable<Uint8Array | Args>,
  ): AsyncIterable<Uint8Array> {
    return encodeInParts(job, parts, { signal: this.#cancel, memory: this.#memory, form: "text" });
  }

  /** Counts the request's memory as its client's. */
  belongTo(client: string): void {
    this.#memory.belongTo(client);
  }

  /** Ends what answers the request, with the error that it is answered by as far as that can still be said. */
  giveUp(reason: ServingError): void {
    this.#cancel.abort(reason);
  }

  /** Lets a server that ends tell the client of an answer in parts. */
  answersInParts(): void {
    this.#isInParts = true;
    const end = (reason: ServingError) => this.giveUp(reason);
    if (!this.#isClosed) this.#inParts?.add(end);
    this.#response.once("close", () => this.#inParts?.delete(end));
  }

  /** Aborts once the client has gone, or the server has given up. */
  get signal(): AbortSignal {
    return this.#cancel.toAbortSignal();
  }

  /** The number of its client. */
  get client(): number {
    return this.#memory.client.number;
  }

  /** As {@link MemoryShare.beyondPart}. */
  beyondPart(bytes: number): number {
    return this.#memory.beyondPart(bytes);
  }

  /** Counts so many bytes more than before, or less; throws `unavailable` if there is no room. */
  hold(bytes: number): void {
    if (bytes > 0) this.#memory.grow(bytes);
    else this.#memory.shrink(-bytes);
  }

  /** Counts an answer of this size instead of the request; throws `unavailable` if there is no room. */
  holdAnswer(bytes: number): void {
    this.#memory.setTo(bytes);
  }

  /**
   * Keeps the counted memory reserved until the answer has been sent. Then the memory of its bytes is returned, if
   * nothing else uses it.
   */
  beginSending(pieces: readonly Uint8Array[]): void {
    this.#isSending = true;
    this.#memory.sending = new AnswerTransfer(this.#response, this.#memory.bytes);
    if (this.#memory.isWireOnly) this.#toReturn = pieces;
  }

  /** Releases the request's memory, unless an answer is being sent; to be called at its end, whatever its result. */
  release(): void {
    if (!this.#isSending) this.#memory.release();
    else if (this.#isClosed) this.#releaseSent();
  }

  /** A request over HTTP/2 may be over while its connection still has to send pieces of its answer. */
  #releaseSent(): void {
    const { socket } = this.request;
    if (socket instanceof StreamSocket) socket.whenTaken(() => this.#memory.release());
    else this.#memory.release();
  }

  /** The parts of an inference call from the HTTP request's headers. */
  callInfo(): CallOptions {
    const metadata = toMetadata(this.request);
    const timeoutMs = parseTimeout(metadata[TIMEOUT_HEADER]);
    const signal = this.#cancel;
    // A response that has closed does not close again, which would leave the timer running.
    const isLimited = timeoutMs !== undefined && !this.#isClosed;
    const deadline = isLimited ? Date.now() + timeoutMs : undefined;
    if (isLimited) {
      const timer = setTimeout(() => signal.abort(deadlinePassed()), timeoutMs);
      this.#response.once("close", () => clearTimeout(timer));
    }
    const arrival = { metadata, deadline, signal, memory: this.#memory };
    return arrivedCall(this.record, peerName(this.request.socket), arrival);
  }

  async #read(maxBytes: number, alignedAt: number): Promise<Buffer> {
    const body = await readBody(this.request, { maxBytes, memory: this.#memory, alignedAt });
    this.record.received(body.length);
    return body;
  }
}

/** Largest memory of objects, as a multiple of their text: `{},` is three bytes, the object 192. */
const JSON_GROWTH = 64;

/** A file's pieces, the file that is joined of them, and the texts beside it. */
const FORM_GROWTH = 3;

/** Header with the client's time limit, in milliseconds; HTTP itself has nothing like gRPC's deadline. */
const TIMEOUT_HEADER = "x-request-timeout-ms";

function parseTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text) && Number(text) <= MAX_TIMER_MS) return Number(text);
  throw invalidArgument(
    `The header X-Request-Timeout-Ms is "${text}"; expected whole milliseconds up to ${MAX_TIMER_MS}, for example 500.`,
  );
}

/** The headers as received: Node joins repeated ones, except for set-cookie, which no request should have. */
function toMetadata({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  const { "set-cookie": cookies } = headers;
  if (cookies !== undefined) return { ...headers, "set-cookie": cookies.join(", ") } as Record<string, string>;
  return headers as Record<string, string>;
}

/** An answer on its way to a client, as the connection shows it. */
class AnswerTransfer implements Transfer {
  readonly stepBytes: number;
  readonly #response: ServerResponse;
  readonly #bytes: number;
  /** Bytes of the connection when it was looked at first. */
  #startBytes: number | undefined;

  /** `bytes`: those that it holds. */
  constructor(response: ServerResponse, bytes: number) {
    this.#response = response;
    this.#bytes = bytes;
    this.stepBytes = StreamSocket.carries(response.req) ? StreamSocket.stepBytes : 0;
  }

  get movedBytes(): number {
    const { socket } = this.#response;
    if (socket === null) return 0;
    const sent = socket instanceof StreamSocket ? socket.sentBytes : sentBytesOf(socket);
    this.#startBytes ??= sent;
    return sent - this.#startBytes;
  }

  get leftBytes(): number {
    const { socket } = this.#response;
    return Math.max(this.#bytes - this.movedBytes, socket === null ? 0 : unsentBytesOf(socket));
  }

  /** False for one that waits behind another, or for its next part. */
  get isClientsTurn(): boolean {
    const { socket } = this.#response;
    return socket !== null && unsentBytesOf(socket) > 0;
  }

  /** By a reset: otherwise the system would keep offering its own buffers. */
  end(): void {
    const { socket } = this.#response;
    if (socket !== null) resetConnection(socket);
  }
}
