import type { MappedFile } from "../../platform/native/mapped-file.ts";

/** Every content begins at a multiple of it: the length of a processor's cache line. */
const ALIGNMENT = 64;
/** Counts of messages are sent modulo 2^32. */
const HALF_COUNT = 2 ** 31;

/** End of what one message lies in. */
interface Sent {
  /** The message's number. */
  readonly message: number;
  readonly end: number;
}

/**
 * The writing end of a memory file by which large contents of messages go to another process. What the other one has
 * not read yet is not written over; each of its messages says how many it has read.
 */
export class RingWriter {
  readonly #file: MappedFile;
  /** Positions that only grow; in the file they are taken modulo its size. */
  #head = 0;
  #tail = 0;
  readonly #unread: Sent[] = [];

  constructor(file: MappedFile) {
    this.#file = file;
  }

  /**
   * Writes a content; returns its place, or undefined if there is no room for it, here or in the machine's memory.
   */
  write(bytes: Uint8Array): number | undefined {
    const start = this.#roomFor(bytes.byteLength);
    if (start === undefined) return undefined;
    try {
      const place = start % this.#file.size;
      this.#file.write(place, bytes);
      this.#head = start + Math.ceil(bytes.byteLength / ALIGNMENT) * ALIGNMENT;
      return place;
    } catch {
      return undefined;
    }
  }

  /** Everything written since the last call belongs to the message of this number. */
  endMessage(message: number): void {
    if (this.#head > (this.#unread.at(-1)?.end ?? this.#tail)) this.#unread.push({ message, end: this.#head });
  }

  /** The other process has read so many messages, modulo 2^32. */
  acknowledge(count: number): void {
    while (this.#unread.length > 0 && (count - this.#unread[0]!.message) >>> 0 < HALF_COUNT)
      this.#tail = this.#unread.shift()!.end;
    // The same memory again is still in the processor's caches.
    if (this.#unread.length === 0 && this.#head === this.#tail) this.#head = this.#tail = 0;
  }

  /** A content lies in one piece. */
  #roomFor(bytes: number): number | undefined {
    const { size } = this.#file;
    const rest = size - (this.#head % size);
    const start = bytes <= rest ? this.#head : this.#head + rest;
    return start + bytes <= this.#tail + size ? start : undefined;
  }
}
