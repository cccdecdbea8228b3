import type { CallKind } from "../access/caller.ts";
import { ERROR } from "../http2/protocol.ts";
import type { ServerStream } from "../http2/server-session.ts";
import type { DataReceiver } from "../http2/session-stream.ts";
import type { CancelSource } from "../platform/async/cancel-source.ts";
import { type Compression, inflate } from "../platform/limits/compression.ts";
import { isPooled, returnMemory } from "../platform/limits/memory/memory-pool.ts";
import { goOnTogether } from "../platform/limits/work-turns.ts";
import { carrierSocketOf } from "../platform/net/node-members.ts";
import type { CallContext } from "./call-context.ts";
import { type FramedMessage, framedBytes } from "./framed-message.ts";
import { GrpcCall } from "./grpc-call.ts";
import type { CallInfo, UnaryRoute } from "./grpc-route.ts";
import { Timed } from "./message-clock.ts";
import { type CallEncoding, compressMessage } from "./message-encoding.ts";
import { MessageReader, tooSlow } from "./message-reader.ts";
import { PieceWatch } from "./piece-watch.ts";
import { writeLast } from "./slice-writer.ts";

const NO_METADATA = {};

/** A call with one message each way. */
export class UnaryCall extends GrpcCall {
  protected readonly kind: CallKind;
  readonly #route: UnaryRoute;

  constructor(stream: ServerStream, context: CallContext, route: UnaryRoute) {
    super(stream, context);
    this.kind = route.kind;
    this.#route = route;
  }

  /** Not while its message comes, nor while its answer is taken. */
  get isWorking(): boolean {
    return !this.isOver && this.memory.receiving === undefined;
  }

  protected async answer(info: CallInfo, encoding: CallEncoding): Promise<void> {
    const reader = this.#reader(encoding.request);
    const received = await this.#receive(reader);
    info.record.received(received.length);
    const message = reader.isCompressed ? await this.#inflate(received, encoding.request as Compression) : received;
    const { message: plain, metadata = NO_METADATA } = await this.#route.method(message, info, (kind) =>
      this.assertMay(kind),
    );
    const { response } = encoding;
    const framed = response === undefined ? plain : await compressMessage(plain, response, this.memory);
    if (this.isOver) return;
    const isRecycled = this.memory.isWireOnly && isPooled(received.length);
    this.memory.setTo(heldBytes(framed, received, isRecycled));
    this.holdsAnswer = true;
    this.startAnswer(metadata, encoding);
    this.markEnded();
    const framedLength = framedBytes(framed);
    info.record.wrote(framedLength);
    writeLast(this.stream, this.guard, { message: framed, trailers: this.trailers });
    if (isRecycled) this.#whenSent(() => reader.recycle());
    if (this.memory.isWireOnly && isPooled(framedLength)) this.#whenSent(() => returnAll(framed));
  }

  /**
   * Calls back once the answer has been sent, which may contain parts of the message. Its stream closes later, with the
   * next answer: memory that waited for that would no longer be in the processor's caches.
   */
  #whenSent(free: () => void): void {
    this.stream.once("finish", free);
  }

  #reader(compression: Compression | undefined): MessageReader {
    const { pool, maxMessageBytes } = this.context;
    const { nesting, maxBytes = maxMessageBytes } = this.#route;
    return new MessageReader({
      maxBytes,
      memory: this.memory,
      pool,
      nesting,
      mayBeCompressed: compression !== undefined,
      end: (error) => this.giveUp(error),
    });
  }

  async #receive(reader: MessageReader): Promise<Uint8Array> {
    const { clock, messageTimeoutMs } = this.context;
    // A client that sends a byte a minute would hold its memory for ever.
    const endSlow = new Timed(() => this.giveUp(tooSlow(messageTimeoutMs)));
    clock.add(endSlow);
    try {
      return await receiveMessage(this.stream, reader, this.source);
    } finally {
      clock.delete(endSlow);
    }
  }

  async #inflate(received: Uint8Array, compression: Compression): Promise<Uint8Array> {
    const { memory } = this;
    const { maxBytes = this.context.maxMessageBytes } = this.#route;
    const inflated = await inflate(received, compression, { maxBytes, memory });
    memory.shrink(received.length);
    return inflated;
  }
}

function returnAll(pieces: FramedMessage): void {
  for (const { buffer } of pieces) returnMemory(buffer);
}

/**
 * Bytes that stay in memory until an answer is sent: its pieces, and the request's message if they view it or its
 * memory will be reused.
 */
function heldBytes(pieces: FramedMessage, { buffer, length }: Uint8Array, isRecycled: boolean): number {
  let isMessageHeld = isRecycled;
  let bytes = 0;
  for (const piece of pieces) {
    if (piece.buffer === buffer) isMessageHeld = true;
    else bytes += piece.length;
  }
  return isMessageHeld ? bytes + length : bytes;
}

/**
 * Reads a stream's message with a reader. Resolves with the message; rejects when it
 * is invalid, or when the source aborts.
 */
export function receiveMessage(stream: ServerStream, reader: MessageReader, source: CancelSource): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const receiver = new MessageReceiver(stream, reader, { resolve, reject });
    stream.receiveInto(receiver);
    source.addEventListener("abort", () => receiver.refuse(source.reason));
  });
}

interface Settle {
  readonly resolve: (message: Uint8Array) => void;
  readonly reject: (reason: unknown) => void;
}

class MessageReceiver implements DataReceiver {
  readonly #stream: ServerStream;
  readonly #pieces = new PieceWatch();
  readonly #reader: MessageReader;
  readonly #settle: Settle;

  constructor(stream: ServerStream, reader: MessageReader, settle: Settle) {
    this.#stream = stream;
    this.#reader = reader;
    this.#settle = settle;
  }

  take(bytes: Buffer, start: number, end: number): void {
    if (this.#pieces.isFlood(end - start)) this.#stream.session.fail(ERROR.enhanceYourCalm, "too_many_small_frames");
    try {
      this.#reader.add(bytes, start, end);
    } catch (reason) {
      this.refuse(reason);
    }
  }

  end(): void {
    try {
      const message = this.#reader.finish();
      goOnTogether(message.length, carrierSocketOf(this.#stream.session.socket), () => this.#settle.resolve(message));
    } catch (reason) {
      this.refuse(reason);
    }
  }

  /** Discards the message and later bytes. */
  refuse(reason: unknown): void {
    this.#reader.drop();
    this.#settle.reject(reason);
  }
}
