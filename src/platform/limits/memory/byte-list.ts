import { MessageChannel } from "node:worker_threads";
import { countGarbage } from "./young-garbage.ts";

const EMPTY = new Uint8Array(0);
/**
 * Claimed length up to which memory is allocated at once. Once so many bytes have arrived, memory for all of them is
 * allocated, as far as {@link trustedBytes} says: copying them again would block the thread for a millisecond per
 * megabyte, and untouched memory costs nothing.
 */
export const MAX_PREALLOCATED_BYTES = 16 * 1024;
/** Bytes that a client is trusted to send for each one that it has sent. */
const TRUST = 64;
/** The same limit if no length is claimed, and only a maximum is known. */
const TRUSTED_BYTES = 8 * 1024 * 1024;
/** The width of the widest numbers. */
const ALIGNMENT = 8;

/**
 * Bytes from one or more pieces of any size, in one buffer: the first block stays a view of its source, later ones
 * cause a copy.
 */
export class ByteList {
  #bytes: Uint8Array = EMPTY;
  #length = 0;
  #isOwned = false;
  #expected = 0;
  #limit = 0;
  #lead = 0;

  /** Number of bytes. */
  get length(): number {
    return this.#length;
  }

  /**
   * Announces the number of bytes, so that the buffer ends up with exactly that size. If blocks are copied, the byte
   * at `alignedAt` is then aligned for numbers of any size.
   */
  expect(bytes: number, alignedAt = 0): void {
    this.#expected = bytes;
    this.#lead = leadTo(alignedAt);
  }

  /** Sets the maximum number of bytes, if their number is not known. */
  limitTo(bytes: number): void {
    this.#limit = bytes;
  }

  append(block: Uint8Array): void {
    if (this.#length === 0 && !this.#isOwned) {
      this.#bytes = block;
      this.#length = block.length;
      return;
    }
    const length = this.#length + block.length;
    if (!this.#isOwned || length > this.#bytes.length) this.#grow(length);
    this.#bytes.set(block, this.#length);
    this.#length = length;
    countGarbage(block.length);
  }

  /** Everything appended so far, in order. */
  contents(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Drops the list's own buffer; existing views of it stay valid. */
  free(): void {
    if (this.#isOwned) freeBuffer(this.#bytes.buffer);
    this.#bytes = EMPTY;
    this.#length = 0;
    this.#isOwned = false;
  }

  #roomFor(atLeast: number): number {
    if (atLeast <= MAX_PREALLOCATED_BYTES && atLeast <= this.#expected)
      return Math.min(MAX_PREALLOCATED_BYTES, this.#expected);
    if (atLeast <= this.#expected) return trustedBytes(this.#expected, atLeast);
    return atLeast > TRUSTED_BYTES && atLeast <= this.#limit ? this.#limit : 2 * atLeast;
  }

  #grow(atLeast: number): void {
    const room = this.#roomFor(atLeast);
    // Not zeroed, so that unused pages are never touched: a claimed length alone costs no memory.
    const larger = new Uint8Array(Buffer.allocUnsafeSlow(this.#lead + room).buffer, this.#lead);
    larger.set(this.contents());
    this.#bytes = larger;
    this.#isOwned = true;
  }
}

/** Bytes of a claimed length for which memory may be allocated once so many have arrived. */
export function trustedBytes(claimed: number, arrived: number): number {
  return Math.min(claimed, TRUST * Math.max(arrived, MAX_PREALLOCATED_BYTES));
}

/** Number of bytes to put before others so that their byte `alignedAt` is aligned for numbers of any size. */
export function leadTo(alignedAt: number): number {
  return (ALIGNMENT - (alignedAt % ALIGNMENT)) % ALIGNMENT;
}

/** Size from which it costs less to free a buffer than to keep it, in bytes. */
const MIN_FREED_BYTES = 256 * 1024;

/**
 * Frees the memory of a large buffer that nothing uses in the next turn of the event loop: V8 would keep it until its
 * next collection of the whole heap.
 */
export function freeBuffer(memory: ArrayBufferLike): void {
  if (!(memory instanceof ArrayBuffer) || memory.byteLength < MIN_FREED_BYTES) return;
  const { port1, port2 } = new MessageChannel();
  port2.close();
  // The message is never received.
  port1.postMessage(undefined, [memory]);
  port1.close();
}
