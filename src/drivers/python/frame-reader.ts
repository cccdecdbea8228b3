/**
 * Begins each frame, little endian: u32 bytes of the header, u32 number of the request, u64 bytes of the body, and of a
 * request alone f64 deadline (milliseconds since 1970, 0 = none), i32 slot (-1 = none) and u32 number of the request
 * that a hook runs for (0 = none).
 */
export const PREFIX_BYTES = 32;
/** Offsets of the prefix's members. */
export const PREFIX = { headerSize: 0, id: 4, bodySize: 8, deadline: 16, slot: 24, context: 28 } as const;
/** Bytes of the body's size that are used: as many as Node reads into a number. */
export const SIZE_BYTES = 6;

/** Called with a whole frame; header and body may be views of the received data. */
export type FrameListener = (id: number, header: Buffer, body: Buffer) => void;

/** Cuts what arrives on a stream into frames. */
export class FrameReader {
  readonly #onFrame: FrameListener;
  readonly #chunks: Buffer[] = [];
  #have = 0;
  /** Length of the present frame; only of its prefix until that is complete. */
  #need = PREFIX_BYTES;

  constructor(onFrame: FrameListener) {
    this.#onFrame = onFrame;
  }

  /** Takes the next bytes of the stream. */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#have += chunk.length;
    while (this.#have >= this.#need) {
      const bytes = this.#join();
      const headerEnd = PREFIX_BYTES + bytes.readUInt32LE(PREFIX.headerSize);
      this.#need = headerEnd + bytes.readUIntLE(PREFIX.bodySize, SIZE_BYTES);
      if (this.#have < this.#need) return;
      const end = this.#need;
      this.#keep(bytes.subarray(end));
      const id = bytes.readUInt32LE(PREFIX.id);
      this.#onFrame(id, bytes.subarray(PREFIX_BYTES, headerEnd), bytes.subarray(headerEnd, end));
    }
  }

  #join(): Buffer {
    const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#chunks.splice(0, this.#chunks.length, bytes);
    return bytes;
  }

  #keep(rest: Buffer): void {
    this.#chunks.splice(0, this.#chunks.length, ...(rest.length > 0 ? [rest] : []));
    this.#have = rest.length;
    this.#need = PREFIX_BYTES;
  }
}
