import type { ServerHttp2Stream } from "node:http2";
import type { CallKind } from "../access/caller.ts";
import type { CancelSource } from "../platform/async/cancel-source.ts";
import { type Compression, inflate } from "../platform/limits/compression.ts";
import { isPooled, returnMemory } from "../platform/limits/memory/memory-pool.ts";
import { goOnTogether } from "../platform/limits/work-turns.ts";
import { receiveInto, type StreamReceiver } from "../platform/net/node-members.ts";
import type { CallContext } from "./call-context.ts";
import { endFlood } from "./end-flood.ts";
import { type FramedMessage, framedBytes } from "./framed-message.ts";
import { GrpcCall } from "./grpc-call.ts";
import type { CallInfo, UnaryRoute } from "./grpc-route.ts";
import { Timed } from "./message-clock.ts";
import { type CallEncoding, compressMessage } from "./message-encoding.ts";
import { MessageReader, tooSlow } from "./message-reader.ts";
import { PacedConnection } from "./paced-connection.ts";
import { PieceWatch } from "./piece-watch.ts";
import { writeLast } from "./slice-writer.ts";

const NO_METADATA = {};

/** A call with one message each way. */
export class UnaryCall extends GrpcCall {
  protected readonly kind: CallKind;
  readonly #route: UnaryRoute;

  constructor(stream: ServerHttp2Stream, context: CallContext, route: UnaryRoute) {
    super(stream, context);
    this.kind = route.kind;
    this.#route = route;
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
    writeLast(this.stream, framed, this.guard);
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
export function receiveMessage(
  stream: ServerHttp2Stream,
  reader: MessageReader,
  source: CancelSource,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const receiver = new MessageReceiver(stream, reader, reject);
    // Node has buffered data of a call that waited for its turn, or that arrived with its connection's preface; without
    // data, the stream has ended.
    if (stream.readableEnded) return receiver.finish(resolve);
    if (stream.readableLength === 0 && receiveInto(stream, receiver)) stream.resume();
    else stream.on("data", (piece: Buffer) => receiver.take(piece));
    stream.on("end", () => receiver.finish(resolve));
    source.addEventListener("abort", () => receiver.refuse(source.reason));
  });
}

class MessageReceiver implements StreamReceiver {
  readonly #stream: ServerHttp2Stream;
  readonly #pieces = new PieceWatch();
  readonly #reader: MessageReader;
  readonly #reject: (reason: unknown) => void;
  readonly #connection: PacedConnection | undefined;

  constructor(stream: ServerHttp2Stream, reader: MessageReader, reject: (reason: unknown) => void) {
    this.#stream = stream;
    this.#reader = reader;
    this.#reject = reject;
    this.#connection = PacedConnection.of(stream.session);
  }

  writeBuffer(): Uint8Array {
    return this.#reader.writeBuffer();
  }

  commit(bytes: number): void {
    this.#count(bytes);
    try {
      this.#reader.commit(bytes);
    } catch (reason) {
      this.refuse(reason);
    }
  }

  take(piece: Buffer): void {
    this.#count(piece.length);
    try {
      this.#reader.add(piece);
    } catch (reason) {
      this.refuse(reason);
    }
  }

  finish(resolve: (message: Uint8Array) => void): void {
    try {
      const message = this.#reader.finish();
      goOnTogether(message.length, () => resolve(message));
    } catch (reason) {
      this.refuse(reason);
    }
  }

  /** Discards the message and later bytes. */
  refuse(reason: unknown): void {
    this.#reader.drop();
    this.#reject(reason);
  }

  #count(bytes: number): void {
    this.#connection?.beginPiece(bytes);
    if (this.#pieces.isFlood(bytes)) endFlood(this.#stream.session, "too_many_small_frames");
  }
}
