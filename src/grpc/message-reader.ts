import { ServingError } from "../errors.ts";
import { leadTo, MAX_PREALLOCATED_BYTES } from "../limits/byte-list.ts";
import type { MemoryShare } from "../limits/memory-budget.ts";
import { MessageArrival } from "../limits/message-arrival.ts";
import { PREFIX_BYTES } from "./framed-message.ts";
import type { MessagePool } from "./message-pool.ts";
import { type Nesting, payloadStart } from "./payload-start.ts";

/** The error for a message that takes too long to arrive. */
export function tooSlow(timeoutMs: number): ServingError {
  return new ServingError(
    "deadline_exceeded",
    `The message has not come whole within ${timeoutMs} ms; send it faster.`,
  );
}

/** The error for a message that claims more bytes than it may have, in the words of grpc-js. */
export function tooLarge(bytes: number, maxBytes: number): ServingError {
  return new ServingError("resource_exhausted", `Received message larger than max (${bytes} vs ${maxBytes})`);
}

/** Limits on a message, and sources of its memory. */
export interface MessageLimits {
  readonly maxBytes: number;
  /** Count of its bytes. */
  readonly memory: MemoryShare;
  /** Memory that can be used for it. */
  readonly pool: MessagePool;
  /** Place of its large values; absent = it has none. */
  readonly nesting?: Nesting | undefined;
  /** True where the call says how its messages are compressed. Default false. */
  readonly mayBeCompressed?: boolean;
}

/** Buffer for bytes that belong to no message yet; they are taken away before others arrive. */
const LANDING = Buffer.allocUnsafeSlow(64 * 1024);
const NOTHING = Buffer.alloc(0);
/** Made once: clients that begin calls and end them at once make it in thousands, and most of that would be its stack. */
const NOT_WHOLE = new ServingError("unimplemented", "Received no whole request message for a unary method");

/**
 * Puts the only message of a unary call together from the pieces that its stream brings, however small they are, in one buffer
 * in which its first large value is aligned as numbers are, so that it need not be copied again.
 */
export class MessageReader {
  readonly #limits: MessageLimits;
  readonly #arrival: MessageArrival;
  /** With its prefix, as far as it has come, and room for more. */
  #bytes: Buffer = NOTHING;
  #length = 0;
  #alignedAt = 0;
  #isDropped = false;
  #isCompressed = false;
  /** With its prefix; undefined while that is not there. */
  #neededBytes: number | undefined;

  constructor(limits: MessageLimits) {
    this.#limits = limits;
    this.#arrival = new MessageArrival(limits.memory);
  }

  /**
   * Buffer for the next bytes, to be committed before any others arrive; never empty, and never a message that was
   * given out.
   */
  writeBuffer(): Uint8Array {
    const isOpen = this.#length < (this.#neededBytes ?? 0) && !this.#isDropped;
    return isOpen ? this.#bytes.subarray(this.#length) : LANDING;
  }

  /** Takes the bytes that were written to the room; throws, and is of no use any more, as soon as the message is known to be one that cannot be taken. */
  commit(bytes: number): void {
    if (this.#isDropped) return;
    this.#arrival.add(bytes);
    if (this.#neededBytes === undefined) this.#begin(LANDING.subarray(0, bytes));
    else if (this.#length === this.#neededBytes) throw secondMessage();
    else this.#length += bytes;
    const neededBytes = this.#neededBytes ?? 0;
    if (this.#length === this.#bytes.length && this.#length < neededBytes) this.#grow(neededBytes);
  }

  /** Takes the next piece, as if it had been written to the room. */
  add(piece: Uint8Array): void {
    for (let at = 0; at < piece.length; ) {
      const room = this.writeBuffer();
      const part = piece.subarray(at, at + room.length);
      room.set(part);
      this.commit(part.length);
      at += part.length;
    }
  }

  /** True for a message that is still to be inflated. */
  get isCompressed(): boolean {
    return this.#isCompressed;
  }

  /** The whole message, once the stream has ended; throws when it is not whole. */
  finish(): Uint8Array {
    if (this.#length !== this.#neededBytes) throw NOT_WHOLE;
    this.#limits.memory.shrink(PREFIX_BYTES);
    return this.#bytes.subarray(PREFIX_BYTES, this.#length);
  }

  /** Gives the memory of the whole message to later ones; it must not be read any more. */
  recycle(): void {
    this.#limits.pool.release(this.#bytes.buffer as ArrayBuffer);
    this.drop();
  }

  /** Takes nothing more: what came is freed, and what still comes is passed over. */
  drop(): void {
    this.#isDropped = true;
    this.#bytes = NOTHING;
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
    this.#bytes =
      this.#fromPool(neededBytes) ?? allocate(Math.min(neededBytes, MAX_PREALLOCATED_BYTES), this.#alignedAt);
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

  /** Index of the first value that is not complete yet; 0 where none is seen. */
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
    const larger = allocate(neededBytes, this.#alignedAt);
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}

/** Not zeroed: of room that is never used no page is ever touched, so that claims alone cost no memory. */
function allocate(bytes: number, alignedAt: number): Buffer {
  const lead = leadTo(alignedAt);
  return Buffer.allocUnsafe(lead + bytes).subarray(lead);
}

/** The error for a message that says that it is compressed in a call that does not say how. */
export function notCompressible(): ServingError {
  return new ServingError("unimplemented", "The message is compressed, but no grpc-encoding says how");
}

function secondMessage(): ServingError {
  return new ServingError("unimplemented", "Received a second request message for a unary method");
}
