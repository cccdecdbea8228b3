import { ServingError } from "../errors.ts";
import { ERROR } from "../http2/protocol.ts";
import type { ServerStream } from "../http2/server-session.ts";
import type { DataReceiver } from "../http2/session-stream.ts";
import { type Compression, inflate } from "../platform/limits/compression.ts";
import { ByteList } from "../platform/limits/memory/byte-list.ts";
import type { MemoryShare } from "../platform/limits/memory/memory-share.ts";
import { MessageArrival } from "../platform/limits/memory/message-arrival.ts";
import { StreamTurns } from "../platform/limits/stream-turns.ts";
import { PREFIX_BYTES } from "./framed-message.ts";
import { type MessageClock, Timed } from "./message-clock.ts";
import { notCompressible, tooLarge, tooSlow } from "./message-reader.ts";
import { PieceWatch } from "./piece-watch.ts";

/** Limits on the messages of a stream. */
export interface MessageStreamLimits {
  /** Size of the largest message, after inflation. */
  readonly maxBytes: number;
  /**
   * Counts the bytes of messages from their arrival; the caller subtracts a message's length once it is done with it.
   */
  readonly memory: MemoryShare;
  /** Time in which a message must arrive, in milliseconds. */
  readonly messageTimeoutMs: number;
  /** Ends calls whose message takes longer. */
  readonly clock: MessageClock;
  /** Ends the call with an error. */
  readonly end: (error: ServingError) => void;
  /** Compression of the messages that have the compressed flag; undefined = they are refused. */
  readonly compression: Compression | undefined;
}

interface ArrivedMessage {
  readonly bytes: Uint8Array;
  readonly isCompressed: boolean;
}

const NOTHING: Buffer = Buffer.alloc(0);

/**
 * Reads the messages of a streaming call from pieces of any size. The HTTP/2 stream is paused while a message waits to
 * be read, so that a client cannot send more than its window ahead; what came with it is cut into messages as they are
 * read, since thousands without content fit into a frame.
 */
export class MessageStream implements AsyncIterable<Uint8Array>, DataReceiver {
  readonly #stream: ServerStream;
  readonly #limits: MessageStreamLimits;
  /** The message that waits to be read. */
  #arrived: ArrivedMessage | undefined;
  /** The last piece, the index from which on it is not cut yet, and the bytes that are counted for that rest. */
  #piece = NOTHING;
  #at = 0;
  #uncutBytes = 0;
  /** The incomplete message, prefix included. */
  #pending = new ByteList();
  #arrival: MessageArrival;
  readonly #pieces = new PieceWatch();
  #neededBytes = PREFIX_BYTES;
  #hasEnded = false;
  #failure: { readonly reason: unknown } | undefined;
  #wake: (() => void) | undefined;
  readonly #endSlow: Timed;
  readonly #turns: StreamTurns;

  constructor(stream: ServerStream, limits: MessageStreamLimits) {
    this.#stream = stream;
    this.#limits = limits;
    this.#turns = new StreamTurns(limits.memory.client.number);
    this.#arrival = this.#nextArrival();
    this.#endSlow = new Timed(() => this.fail(tooSlow(limits.messageTimeoutMs)));
    stream.receiveInto(this);
  }

  /** Fails the reader with a reason; later data is discarded. */
  fail(reason: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { reason };
    this.#arrival.done();
    this.#pending.free();
    this.#drop();
    this.#limits.clock.delete(this.#endSlow);
    this.#stream.resume();
    this.#wake?.();
  }

  /**
   * The messages in order, until the client has sent its last one. Throws the reason for an earlier end of the stream.
   * No generator: it and what it waits for would take half a kilobyte of each stream without a message.
   */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, undefined> {
    return { next: () => this.#next() };
  }

  async #next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      if (this.#piece.length > 0) this.#cut();
      this.#assertGoesOn();
      const message = this.#arrived;
      this.#arrived = undefined;
      if (message !== undefined) {
        const turn = this.#turns.next();
        if (turn !== undefined) {
          await turn;
          this.#assertGoesOn();
        }
        return { done: false, value: message.isCompressed ? await this.#inflate(message.bytes) : message.bytes };
      }
      if (this.#hasEnded) return { done: true, value: undefined };
      this.#stream.resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #assertGoesOn(): void {
    if (this.#failure !== undefined) throw this.#failure.reason;
  }

  async #inflate(bytes: Uint8Array): Promise<Uint8Array> {
    const { compression, memory } = this.#limits;
    if (compression === undefined) throw notCompressible();
    const inflated = await inflate(bytes, compression, this.#limits);
    memory.shrink(bytes.length);
    return inflated;
  }

  take(bytes: Buffer, start: number, end: number): void {
    if (this.#failure !== undefined) return;
    // Messages are views of what came.
    const piece = Buffer.from(bytes.subarray(start, end));
    if (this.#pieces.isFlood(piece.length)) {
      this.#stream.session.fail(ERROR.enhanceYourCalm, "too_many_small_frames");
    }
    this.#piece = piece;
    this.#cut();
    if (this.#failure !== undefined || this.#arrived === undefined) return;
    this.#stream.pause();
    this.#wake?.();
  }

  /** Cuts the next message from the piece, or takes all of it as a part of one. */
  #cut(): void {
    try {
      while (this.#at < this.#piece.length && this.#arrived === undefined) this.#gather(this.#piece);
      this.#countUncut();
    } catch (reason) {
      this.fail(reason);
      return;
    }
    this.#limitTime();
  }

  /** Counts the rest of a piece, once: its messages count again as they are cut, until none is left. */
  #countUncut(): void {
    const { memory } = this.#limits;
    const bytes = this.#piece.length - this.#at;
    if (bytes === 0) {
      if (this.#uncutBytes > 0) memory.shrink(this.#uncutBytes);
      this.#drop();
    } else if (this.#uncutBytes === 0) {
      memory.grow(bytes);
      this.#uncutBytes = bytes;
    }
  }

  #drop(): void {
    this.#piece = NOTHING;
    this.#at = 0;
    this.#uncutBytes = 0;
  }

  /** Adds the bytes that belong to the current message. */
  #gather(piece: Buffer): void {
    const start = this.#at;
    const end = Math.min(start + this.#neededBytes - this.#pending.length, piece.length);
    this.#at = end;
    this.#arrival.add(end - start);
    this.#pending.append(piece.subarray(start, end));
    if (this.#pending.length === PREFIX_BYTES && this.#neededBytes === PREFIX_BYTES) this.#expect();
    if (this.#pending.length === this.#neededBytes) this.#complete();
  }

  #expect(): void {
    const { maxBytes } = this.#limits;
    const bytes = Buffer.from(this.#pending.contents()).readUInt32BE(1);
    if (bytes > maxBytes) throw tooLarge(bytes, maxBytes);
    this.#neededBytes += bytes;
    this.#pending.expect(this.#neededBytes);
    this.#arrival.announce(this.#neededBytes);
  }

  #complete(): void {
    this.#pieces.restart();
    const framed = this.#pending.contents();
    this.#arrived = { bytes: framed.subarray(PREFIX_BYTES), isCompressed: framed[0] !== 0 };
    this.#limits.memory.shrink(PREFIX_BYTES);
    this.#pending = new ByteList();
    this.#arrival = this.#nextArrival();
    this.#neededBytes = PREFIX_BYTES;
  }

  /** The client is not waited for between messages, which hold nothing, nor while the server reads no more. */
  #nextArrival(): MessageArrival {
    const arrival = new MessageArrival(this.#limits.memory, this.#limits.end);
    arrival.isClientsTurn = false;
    return arrival;
  }

  /** A client that sends a byte a minute would hold its memory for ever. */
  #limitTime(): void {
    const { clock } = this.#limits;
    clock.delete(this.#endSlow);
    const isBegun = this.#pending.length > 0;
    this.#arrival.isClientsTurn = isBegun;
    if (isBegun) clock.add(this.#endSlow);
  }

  end(): void {
    this.#hasEnded = true;
    this.#arrival.done();
    if (this.#pending.length > 0)
      this.fail(new ServingError("internal", "The stream ended in the middle of a message"));
    this.#wake?.();
  }
}
