import type { ServerHttp2Stream } from "node:http2";
import type { CallKind } from "../access/caller.ts";
import { type Compression, inflate } from "../platform/limits/compression.ts";
import { isPooled, returnMemory } from "../platform/limits/memory/memory-pool.ts";
import type { CallContext } from "./call-context.ts";
import { type FramedMessage, framedBytes } from "./framed-message.ts";
import { GrpcCall } from "./grpc-call.ts";
import type { CallInfo, UnaryRoute } from "./grpc-route.ts";
import { Timed } from "./message-clock.ts";
import { type CallEncoding, compressMessage } from "./message-encoding.ts";
import { MessageReader, tooSlow } from "./message-reader.ts";
import { receiveMessage } from "./receive-message.ts";
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
 * Bytes that stay in memory until an answer is sent: its pieces, and the request's message where they view it or its
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
