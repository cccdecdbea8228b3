import type { Socket } from "node:net";
import { HEAD_BYTES } from "./protocol.ts";

const SLAB_BYTES = 64 * 1024;
/** Size from which on a piece of data is sent from where it lies, in bytes; smaller ones are cheaper to copy. */
const BORROWED_BYTES = 2048;

/** A frame in memory of its own, for the few that are not written at once. */
export function makeFrame(type: number, flags: number, id: number, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEAD_BYTES + payload.length);
  writeHead(frame, 0, { length: payload.length, type, flags, id });
  frame.set(payload, HEAD_BYTES);
  return frame;
}

/** Numbers of 32 bits, as payloads have them. */
export function uint32s(...values: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(4 * values.length);
  for (let index = 0; index < values.length; index++) bytes.writeUInt32BE(values[index] as number, 4 * index);
  return bytes;
}

/** Writes a frame's head (RFC 9113 §4.1). */
function writeHead(bytes: Buffer, at: number, head: { length: number; type: number; flags: number; id: number }): void {
  const { length, id } = head;
  bytes[at] = length >>> 16;
  bytes[at + 1] = length >>> 8;
  bytes[at + 2] = length;
  bytes[at + 3] = head.type;
  bytes[at + 4] = head.flags;
  bytes[at + 5] = id >>> 24;
  bytes[at + 6] = id >>> 16;
  bytes[at + 7] = id >>> 8;
  bytes[at + 8] = id;
}

/**
 * Gathers frames into one write: small things in a slab, large pieces from where they lie. Connections use it one after
 * the other, each from its first frame to {@link writeTo}.
 */
export class FrameOutput {
  #bytes = 0;
  #slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
  /** Bytes of the slab that are gathered: from the first that is in no chunk. */
  #start = 0;
  #at = 0;
  /** True while a socket may still have to send bytes of this slab. */
  #isLent = false;
  readonly #chunks: Uint8Array[] = [];
  /** Indexes of the chunks that are parts of a slab. */
  readonly #slabChunks: number[] = [];

  /** Bytes gathered so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds the head of a frame; its payload has to follow. */
  head(length: number, type: number, flags: number, id: number): void {
    this.#reserve(HEAD_BYTES);
    writeHead(this.#slab, this.#at, { length, type, flags, id });
    this.#at += HEAD_BYTES;
    this.#bytes += HEAD_BYTES;
  }

  /** Adds bytes that may change afterwards. */
  copy(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#slab.set(bytes, this.#at);
    this.#at += bytes.length;
    this.#bytes += bytes.length;
  }

  /** Adds a part of a piece that does not change until it is sent. */
  borrow(piece: Uint8Array, start: number, end: number): void {
    const part = start === 0 && end === piece.length ? piece : piece.subarray(start, end);
    if (part.length < BORROWED_BYTES) {
      this.copy(part);
      return;
    }
    this.#cut();
    this.#chunks.push(part);
    this.#bytes += part.length;
  }

  /**
   * Writes all that was gathered, which must be something. Returns true if the system has taken it, and all that was
   * written before; `written` is called in any case, possibly later.
   */
  writeTo(socket: Socket, written: () => void): boolean {
    this.#cut();
    // A socket that is full may keep its chunks for long, and a few bytes would keep all of a slab.
    if (socket.writableLength > 0) this.#copySlabs();
    const chunks = this.#chunks;
    const last = chunks.length - 1;
    if (last > 0) socket.cork();
    for (let index = 0; index < last; index++) socket.write(chunks[index] as Uint8Array);
    socket.write(chunks[last] as Uint8Array, written);
    if (last > 0) socket.uncork();
    const isTaken = socket.writableLength === 0;
    if (!isTaken && this.#slabChunks.length > 0) this.#isLent = true;
    chunks.length = 0;
    this.#slabChunks.length = 0;
    this.#bytes = 0;
    if (!this.#isLent) this.#start = this.#at = 0;
    return isTaken;
  }

  /** Makes a chunk of the gathered bytes of the slab. */
  #cut(): void {
    if (this.#at > this.#start) {
      this.#slabChunks.push(this.#chunks.length);
      this.#chunks.push(this.#slab.subarray(this.#start, this.#at));
    }
    this.#start = this.#at;
  }

  #copySlabs(): void {
    for (const index of this.#slabChunks) {
      const chunk = this.#chunks[index] as Uint8Array;
      const copy = Buffer.allocUnsafeSlow(chunk.length);
      copy.set(chunk);
      this.#chunks[index] = copy;
    }
    this.#slabChunks.length = 0;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#slab.length) return;
    this.#cut();
    this.#slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, bytes));
    this.#start = this.#at = 0;
    this.#isLent = false;
  }
}
