import { ServingError } from "../errors.ts";
import { freeBuffer, leadTo, MAX_PREALLOCATED_BYTES, trustedBytes } from "../platform/limits/memory/byte-list.ts";
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
  #bytes: Buffer = NOTHING;
  #length = 0;
  #alignedAt = 0;
  #isDropped = false;
  /** True once others may read the message. */
  #isGiven = false;
  #isCompressed = false;
  /** Length with the prefix; undefined while the prefix is incomplete. */
  #neededBytes: number | undefined;

  constructor(limits: MessageLimits) {
    this.#limits = limits;
    this.#arrival = new MessageArrival(limits.memory, limits.end);
  }

  /** Memory of the bytes so far, prefix included, with space for more. */
  get buffer(): ArrayBufferLike {
    return this.#bytes.buffer;
  }

  /**
   * Copies the next bytes, which lie between two indexes. Throws as soon as the message is known to be invalid; the
   * reader is unusable afterwards.
   */
  add(bytes: Buffer, start = 0, end = bytes.length): void {
    if (this.#isDropped || start === end) return;
    this.#arrival.add(end - start);
    if (this.#neededBytes === undefined) this.#begin(bytes.subarray(start, end));
    else this.#append(bytes, start, end, this.#neededBytes);
  }

  #append(bytes: Buffer, start: number, end: number, neededBytes: number): void {
    if (this.#length + end - start > neededBytes) throw secondMessage();
    for (let at = start; at < end; ) {
      if (this.#length === this.#bytes.length) this.#grow(neededBytes);
      const copied = bytes.copy(this.#bytes, this.#length, at, end);
      this.#length += copied;
      at += copied;
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
    this.#isGiven = true;
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
    if (!this.#isGiven) freeBuffer(this.#bytes.buffer);
    this.#bytes = NOTHING;
  }

  /** The first bytes, or further ones while the prefix is incomplete. */
  #begin(piece: Buffer): void {
    const head = this.#length === 0 ? piece : Buffer.concat([this.#bytes, piece]);
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
