import { ServingError } from "../errors.ts";
import { leadTo, MAX_PREALLOCATED_BYTES, trustedBytes } from "../platform/limits/memory/byte-list.ts";
import type { MemoryPool } from "../platform/limits/memory/memory-pool.ts";
import type { MemoryShare } from "../platform/limits/memory/memory-share.ts";
import { MessageArrival } from "../platform/limits/memory/message-arrival.ts";
import { PREFIX_BYTES } from "./framed-message.ts";
import { type Nesting, payloadStart } from "./payload-start.ts";

/** The error for a message that takes too long to arrive. */
export function tooSlow(timeoutMs: number): ServingError {
  return new ServingError(
    "deadline_exceeded",
    `The message has not come whole within ${timeoutMs} ms; send it faster.`,
  );
}

/** The error for a message above the size limit, with grpc-js's text. */
export function tooLarge(bytes: number, maxBytes: number): ServingError {
  return new ServingError("resource_exhausted", `Received message larger than max (${bytes} vs ${maxBytes})`);
}

/** Limits on a message, and sources of its memory. */
export interface MessageLimits {
  readonly maxBytes: number;
  /** Count of the message's bytes. */
  readonly memory: MemoryShare;
  /** Reusable memory for the message. */
  readonly pool: MemoryPool;
  /** Place of its large values; absent = it has none. */
  readonly nesting?: Nesting | undefined;
  /** True if the call's headers name a compression. Default false. */
  readonly mayBeCompressed?: boolean;
  /** Ends its call with an error; absent = it has none. */
  readonly end?: (error: ServingError) => void;
}

/** Buffer for the first bytes of a message; they are copied before others arrive. */
const LANDING = Buffer.allocUnsafeSlow(64 * 1024);
const NOTHING = Buffer.alloc(0);
/** Created once: clients that begin calls and end them at once cause thousands of it, and its stack is expensive. */
const NOT_WHOLE = new ServingError("unimplemented", "Received no whole request message for a unary method");

/**
 * Assembles the only message of a unary call from the pieces of its stream, of any size, in one buffer. The first large
 * value is aligned for its numbers, so that it need not be copied again.
 */
export class MessageReader {
  readonly #limits: MessageLimits;
  readonly #arrival: MessageArrival;
  /** The bytes so far, prefix included, and space for more. */
  #bytes: Buffer = NOTHING;
  #length = 0;
  #alignedAt = 0;
  #isDropped = false;
  #isCompressed = false;
  /** Length with the prefix; undefined while the prefix is incomplete. */
  #neededBytes: number | undefined;

  constructor(limits: MessageLimits) {
    this.#limits = limits;
    this.#arrival = new MessageArrival(limits.memory, limits.end);
  }

  /**
   * Buffer for the next bytes, to be committed before any others arrive; never empty, and never part of a returned
   * message.
   */
  writeBuffer(): Uint8Array {
    return this.#openBytes > 0 ? this.#bytes.subarray(this.#length) : LANDING;
  }

  /**
   * Takes the bytes that were written to the buffer. Throws as soon as the message is known to be invalid; the reader
   * is unusable afterwards.
   */
  commit(bytes: number): void {
    if (this.#isDropped) return;
    this.#arrival.add(bytes);
    if (this.#neededBytes === undefined) this.#begin(LANDING.subarray(0, bytes));
    else if (this.#length === this.#neededBytes) throw secondMessage();
    else this.#length += bytes;
    const neededBytes = this.#neededBytes ?? 0;
    if (this.#length === this.#bytes.length && this.#length < neededBytes) this.#grow(neededBytes);
  }

  /** Takes the next piece, as if it had been written to the buffer. */
  add(piece: Uint8Array): void {
    const openBytes = this.#openBytes;
    if (openBytes > 0 && piece.length <= openBytes) {
      this.#bytes.set(piece, this.#length);
      this.commit(piece.length);
      return;
    }
    for (let at = 0; at < piece.length; ) {
      const room = this.writeBuffer();
      const part = piece.subarray(at, at + room.length);
      room.set(part);
      this.commit(part.length);
      at += part.length;
    }
  }

  /** True for a message that has to be inflated. */
  get isCompressed(): boolean {
    return this.#isCompressed;
  }

  /** The whole message, once the stream has ended; throws when it is incomplete. */
  finish(): Uint8Array {
    this.#arrival.done();
    if (this.#length !== this.#neededBytes) throw NOT_WHOLE;
    this.#limits.memory.shrink(PREFIX_BYTES);
    return this.#bytes.subarray(PREFIX_BYTES, this.#length);
  }

  /** Returns the message's memory to the pool; it must not be read any more. */
  recycle(): void {
    this.#limits.pool.release(this.#bytes.buffer as ArrayBuffer);
    this.drop();
  }

  /** Discards the message and all later bytes. */
  drop(): void {
    this.#arrival.done();
    this.#isDropped = true;
    this.#bytes = NOTHING;
  }

  /** Bytes that the message's own memory has room for. */
  get #openBytes(): number {
    return this.#bytes.length - this.#length;
  }

  #begin(landed: Buffer): void {
    const head = this.#length === 0 ? landed : Buffer.concat([this.#bytes, landed]);
    this.#length = head.length;
    if (head.length < PREFIX_BYTES) {
      this.#bytes = Buffer.from(head);
      return;
    }
    const neededBytes = PREFIX_BYTES + this.#readLength(head);
    if (head.length > neededBytes) throw secondMessage();
    this.#neededBytes = neededBytes;
    this.#arrival.announce(neededBytes);
    this.#alignedAt = this.#payloadStart(head);
    this.#bytes = this.#fromPool(neededBytes) ?? allocate(firstBytes(neededBytes, head.length), this.#alignedAt);
    this.#bytes.set(head);
  }

  #readLength(prefix: Buffer): number {
    const { maxBytes, mayBeCompressed = false } = this.#limits;
    this.#isCompressed = prefix[0] !== 0;
    if (this.#isCompressed && !mayBeCompressed) throw notCompressible();
    const length = prefix.readUInt32BE(1);
    if (length > maxBytes) throw tooLarge(length, maxBytes);
    return length;
  }

  /** Index of the first incomplete value; 0 if there is none. */
  #payloadStart(head: Buffer): number {
    const { nesting } = this.#limits;
    const start = nesting && !this.#isCompressed ? payloadStart(head.subarray(PREFIX_BYTES), nesting) : undefined;
    return start === undefined ? 0 : PREFIX_BYTES + start;
  }

  #fromPool(neededBytes: number): Buffer | undefined {
    const lead = leadTo(this.#alignedAt);
    const memory = this.#limits.pool.take(lead + neededBytes);
    return memory && Buffer.from(memory, lead, neededBytes);
  }

  #grow(neededBytes: number): void {
    const larger = allocate(trustedBytes(neededBytes, this.#length), this.#alignedAt);
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}

/** Bytes to allocate for a message of which some have arrived: many, once they are those of one frame of HTTP/2. */
function firstBytes(neededBytes: number, arrivedBytes: number): number {
  return arrivedBytes < MAX_PREALLOCATED_BYTES
    ? Math.min(neededBytes, MAX_PREALLOCATED_BYTES)
    : trustedBytes(neededBytes, arrivedBytes);
}

/** Not zeroed, so that unused pages are never touched: a claimed length alone costs no memory. */
function allocate(bytes: number, alignedAt: number): Buffer {
  const lead = leadTo(alignedAt);
  return Buffer.allocUnsafe(lead + bytes).subarray(lead);
}

/** The error for a compressed message in a call whose headers name no compression. */
export function notCompressible(): ServingError {
  return new ServingError("unimplemented", "The message is compressed, but no grpc-encoding says how");
}

function secondMessage(): ServingError {
  return new ServingError("unimplemented", "Received a second request message for a unary method");
}
