/** The kind of an element, in the lowest two bits of its tag. */
const LITERAL = 0;
const COPY_1 = 1;
/** Tags of literals from here on say how many bytes of length follow. */
const LONG_LITERAL = 60;
/** A block of a checkpoint's index has some kilobytes. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * The content of a block in Snappy's raw format (https://github.com/google/snappy/blob/main/format_description.txt).
 * Throws an Error with the reason for invalid bytes.
 */
export function decompressSnappy(bytes: Uint8Array): Uint8Array {
  return new Decompressor(bytes).run();
}

class Decompressor {
  readonly #bytes: Uint8Array;
  #position = 0;
  #output = new Uint8Array(0);
  #written = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  run(): Uint8Array {
    const length = this.#varint();
    if (length > MAX_BYTES) throw new Error(`a compressed block of it claims ${length} bytes`);
    this.#output = new Uint8Array(length);
    while (this.#position < this.#bytes.length) this.#element(this.#number(1));
    if (this.#written !== length) throw new Error("a compressed block of it is shorter than it says");
    return this.#output;
  }

  #element(tag: number): void {
    const kind = tag & 3;
    if (kind === LITERAL) this.#literal(tag >> 2);
    else if (kind === COPY_1) this.#copy(((tag >> 5) << 8) | this.#number(1), 4 + ((tag >> 2) & 7));
    else this.#copy(this.#number(kind === 2 ? 2 : 4), 1 + (tag >> 2));
  }

  #literal(code: number): void {
    const length = 1 + (code < LONG_LITERAL ? code : this.#number(code - LONG_LITERAL + 1));
    const end = this.#position + length;
    if (end > this.#bytes.length) throw new Error("a compressed block of it is cut short");
    this.#reserve(length);
    this.#output.set(this.#bytes.subarray(this.#position, end), this.#written);
    this.#position = end;
    this.#written += length;
  }

  /** Copies earlier output, which may overlap the copy: a run repeats itself. */
  #copy(offset: number, length: number): void {
    if (offset === 0 || offset > this.#written)
      throw new Error("a compressed block of it repeats what it does not have");
    this.#reserve(length);
    for (let index = 0; index < length; index++, this.#written++) {
      this.#output[this.#written] = this.#output[this.#written - offset]!;
    }
  }

  #reserve(length: number): void {
    if (this.#written + length > this.#output.length)
      throw new Error("a compressed block of it is longer than it says");
  }

  #varint(): number {
    let value = 0;
    for (let scale = 1; scale <= 2 ** 28; scale *= 128) {
      const byte = this.#number(1);
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new Error("a compressed block of it has no valid length");
  }

  /** An unsigned little-endian number. */
  #number(size: number): number {
    const start = this.#position;
    this.#position += size;
    if (this.#position > this.#bytes.length) throw new Error("a compressed block of it is cut short");
    return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + start, size).readUIntLE(0, size);
  }
}
