/** u32 length of the header, u64 length of the body; little endian. */
export const PREFIX_BYTES = 12;

/** Told of a whole frame; the body may be a view of what arrived. */
export type FrameListener = (header: string, body: Buffer) => void;

/** Cuts what arrives on a stream into frames. */
export class FrameReader {
  readonly #onFrame: FrameListener;
  readonly #chunks: Buffer[] = [];
  #have = 0;
  /** Bytes of the frame under way; its prefix alone as long as that is not known. */
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
      const headerEnd = PREFIX_BYTES + bytes.readUInt32LE(0);
      this.#need = headerEnd + Number(bytes.readBigUInt64LE(4));
      if (this.#have < this.#need) return;
      const end = this.#need;
      this.#keep(bytes.subarray(end));
      this.#onFrame(bytes.toString("utf8", PREFIX_BYTES, headerEnd), bytes.subarray(headerEnd, end));
    }
  }

  #join(): Buffer {
    const bytes = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    this.#chunks.splice(0, this.#chunks.length, bytes);
    return bytes;
  }

  #keep(rest: Buffer): void {
    this.#chunks.splice(0, this.#chunks.length, ...(rest.length > 0 ? [rest] : []));
    this.#have = rest.length;
    this.#need = PREFIX_BYTES;
  }
}
