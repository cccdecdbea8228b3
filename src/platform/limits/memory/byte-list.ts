import { MessageChannel } from "node:worker_threads";
import { CopyInTurns } from "../event-loop-turns.ts";
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
/** Bytes after which a client is trusted to send all that it claims: to copy more would take the thread too long. */
const TRUSTED_BYTES = 16 * 1024 * 1024;
/** Bytes of a segment. */
const SEGMENT_BYTES = 8 * 1024 * 1024;
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
  #hasSegments = false;
  /** Segments that are full, with the bytes before those of the last buffer. */
  #full: Uint8Array[] = [];
  #fullBytes = 0;
  #lead = 0;

  /** Number of bytes. */
  get length(): number {
    return this.#fullBytes + this.#length;
  }

  /**
   * Announces the number of bytes, so that the buffer ends up with exactly that size. If blocks are copied, the byte
   * at `alignedAt` is then aligned for numbers of any size.
   */
  expect(bytes: number, alignedAt = 0): void {
    this.#expected = bytes;
    this.#lead = leadTo(alignedAt);
  }

  /**
   * Has what goes beyond the expected number of bytes, and beyond some megabytes, kept in further buffers, so that no
   * more is copied at once; {@link whole} joins them.
   */
  useSegments(): void {
    this.#hasSegments = true;
  }

  append(block: Uint8Array): void {
    if (this.length === 0 && !this.#isOwned) {
      this.#bytes = block;
      this.#length = block.length;
      return;
    }
    if (this.#isSegmentFull(block)) this.#beginSegment(block);
    const length = this.#length + block.length;
    if (!this.#isOwned || length > this.#bytes.length) this.#grow(length);
    this.#bytes.set(block, this.#length);
    this.#length = length;
    countGarbage(block.length);
  }

  /** Everything appended so far, in order; not for a list with segments. */
  contents(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Gives away everything appended, so that the list has nothing to {@link free}; a promise if it has to be joined. */
  whole(): Uint8Array | Promise<Uint8Array> {
    const full = this.#full;
    const last = this.contents();
    this.#full = [];
    this.#isOwned = false;
    return full.length === 0 ? last : join([...full, last], this.#lead);
  }

  /** Drops the list's own buffers; existing views of them stay valid. */
  free(): void {
    if (this.#isOwned) freeBuffer(this.#bytes.buffer);
    for (const { buffer } of this.#full) freeBuffer(buffer);
    this.#full = [];
    this.#fullBytes = 0;
    this.#bytes = EMPTY;
    this.#length = 0;
    this.#isOwned = false;
  }

  #roomFor(atLeast: number): number {
    if (atLeast <= MAX_PREALLOCATED_BYTES && atLeast <= this.#expected)
      return Math.min(MAX_PREALLOCATED_BYTES, this.#expected);
    return atLeast <= this.#expected ? trustedBytes(this.#expected, atLeast) : 2 * atLeast;
  }

  #grow(atLeast: number): void {
    const larger = allocate(this.#roomFor(atLeast), this.#lead);
    larger.set(this.contents());
    this.#bytes = larger;
    this.#isOwned = true;
  }

  #isSegmentFull(block: Uint8Array): boolean {
    if (!this.#hasSegments || !this.#isOwned || this.#length < SEGMENT_BYTES) return false;
    const length = this.#length + block.length;
    // The expected number is that of the first buffer.
    return length > this.#bytes.length && (this.#full.length > 0 || length > this.#expected);
  }

  #beginSegment(block: Uint8Array): void {
    this.#full.push(this.contents());
    this.#fullBytes += this.#length;
    this.#bytes = allocate(Math.max(SEGMENT_BYTES, block.length), 0);
    this.#length = 0;
  }
}

/** Joins segments, each of which is freed once it has been copied; `lead`: bytes before them. */
async function join(segments: readonly Uint8Array[], lead: number): Promise<Uint8Array> {
  const bytes = segments.reduce((sum, { length }) => sum + length, 0);
  const joined = allocate(bytes, lead);
  const copy = new CopyInTurns(joined);
  for (const segment of segments) {
    await copy.add(segment);
    freeBuffer(segment.buffer);
  }
  return joined;
}

/** Not zeroed, so that unused pages are never touched: a claimed length alone costs no memory. */
function allocate(bytes: number, lead: number): Uint8Array {
  return new Uint8Array(Buffer.allocUnsafeSlow(lead + bytes).buffer, lead);
}

/**
 * Bytes of a claimed length for which memory may be allocated once so many have arrived: all, or as many as have to
 * come before all are trusted, since what has come is copied each time.
 */
export function trustedBytes(claimed: number, arrived: number): number {
  const trusted = TRUST * Math.max(arrived, MAX_PREALLOCATED_BYTES);
  if (claimed <= trusted || arrived >= TRUSTED_BYTES) return claimed;
  return Math.min(trusted, TRUSTED_BYTES, Math.ceil(claimed / TRUST));
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
