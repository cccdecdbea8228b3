import { freeBuffer } from "./free-buffer.ts";
import { countGarbage } from "./young-garbage.ts";

const EMPTY = new Uint8Array(0);
/**
 * A length that a client only claims is taken at its word up to so many bytes. Once these are there, room is made for all of
 * them: copying them once more would keep the thread for a millisecond per megabyte, and untouched room costs nothing.
 */
export const MAX_PREALLOCATED_BYTES = 64 * 1024;
/** The same where no length is claimed, and only a limit is known. */
const TRUSTED_BYTES = 8 * 1024 * 1024;
/** The width of the widest numbers. */
const ALIGNMENT = 8;

/**
 * Bytes gathered from one or more places, in one buffer however small the pieces are: the first block stays a view of where
 * it came from, later ones cause a copy.
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
   * Says how many bytes there will be, so that the buffer ends up with no more room than that. Where blocks are copied, the
   * one at `alignedAt` then lies where numbers of any size can be viewed.
   */
  expect(bytes: number, alignedAt = 0): void {
    this.#expected = bytes;
    this.#lead = leadTo(alignedAt);
  }

  /** Sets the largest number of bytes, where it is not known how many there will be. */
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

  /** Frees memory of its own, whatever views there are of it. */
  free(): void {
    if (this.#isOwned) freeBuffer(this.#bytes.buffer);
    this.#bytes = EMPTY;
    this.#length = 0;
    this.#isOwned = false;
  }

  #roomFor(atLeast: number): number {
    if (atLeast <= MAX_PREALLOCATED_BYTES && atLeast <= this.#expected)
      return Math.min(MAX_PREALLOCATED_BYTES, this.#expected);
    if (atLeast <= this.#expected) return this.#expected;
    return atLeast > TRUSTED_BYTES && atLeast <= this.#limit ? this.#limit : 2 * atLeast;
  }

  #grow(atLeast: number): void {
    const room = this.#roomFor(atLeast);
    // Not zeroed: of room that is never used no page is ever touched, so that claims alone cost no memory.
    const larger = new Uint8Array(Buffer.allocUnsafeSlow(this.#lead + room).buffer, this.#lead);
    larger.set(this.contents());
    this.#bytes = larger;
    this.#isOwned = true;
  }
}

/** Number of bytes to put before others so that numbers of any size can be viewed from their byte `alignedAt` on. */
export function leadTo(alignedAt: number): number {
  return (ALIGNMENT - (alignedAt % ALIGNMENT)) % ALIGNMENT;
}
