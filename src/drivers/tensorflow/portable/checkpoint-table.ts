import { maskedCrc32c } from "../../../tensor/codecs/crc32c.ts";

/** The last bytes of a table: two block handles, padded, and the magic number. */
const FOOTER_BYTES = 48;
const MAGIC = 0xdb4775248b80fb57n;
/** After each block: how it is compressed, and the checksum of the block and that. */
const TRAILER_BYTES = 5;
/** Content of all blocks, and keys of all entries; the index of a large model has some megabytes. */
const MAX_TOTAL = 256 * 1024 * 1024;
/** Entries of all blocks: small ones take many times their bytes in memory. */
const MAX_ENTRIES = 1_000_000;
/** Worth of the last byte of a number: the greatest that is exact. */
const MAX_SCALE = 2 ** 42;

/** Place of a block. */
interface BlockHandle {
  readonly offset: number;
  readonly size: number;
}

/**
 * Reads a sorted string table, which is LevelDB's format and the index of a TensorFlow checkpoint: keys (as latin-1
 * text) and values. Throws an Error with the fault of the bytes.
 */
export function readTable(bytes: Uint8Array): Map<string, Uint8Array> {
  if (bytes.length < FOOTER_BYTES) throw new Error(`it has ${bytes.length} bytes, too few for an index`);
  const footer = new Cursor(bytes.subarray(bytes.length - FOOTER_BYTES));
  if (footer.uint64At(FOOTER_BYTES - 8) !== MAGIC)
    throw new Error("it does not end as an index does; it may be cut short");
  readHandle(footer);
  const entries = new Map<string, Uint8Array>();
  let [total, count] = [0, 0];
  function* read(handle: BlockHandle) {
    const block = readBlock(bytes, handle);
    total += block.length;
    if (total > MAX_TOTAL) throw new Error("its blocks refer to each other too often");
    for (const entry of readEntries(block)) {
      if (++count > MAX_ENTRIES) throw new Error(`it has more than ${MAX_ENTRIES} entries`);
      yield entry;
    }
  }
  for (const [, handle] of read(readHandle(footer))) {
    for (const [key, value] of read(readHandle(new Cursor(handle)))) entries.set(key, value);
  }
  return entries;
}

function readHandle(cursor: Cursor): BlockHandle {
  return { offset: cursor.varint(), size: cursor.varint() };
}

function readBlock(bytes: Uint8Array, { offset, size }: BlockHandle): Uint8Array {
  if (offset + size + TRAILER_BYTES > bytes.length) throw new Error("a block of it ends beyond the file");
  const trailer = Buffer.from(bytes.subarray(offset + size, offset + size + TRAILER_BYTES));
  if (trailer.readUInt32LE(1) !== maskedCrc32c(bytes.subarray(offset, offset + size + 1)))
    throw new Error("a block of it is damaged");
  return decompress(bytes.subarray(offset, offset + size), trailer[0]!);
}

/** Old versions of TensorFlow compress the index with Snappy if they were built with it. */
function decompress(block: Uint8Array, method: number): Uint8Array {
  if (method === 0) return block;
  if (method === 1) return decompressSnappy(block);
  throw new Error(`a block of it is compressed by an unknown method (${method}); expected none or Snappy`);
}

/** Each key shares its beginning with the one before; the list of places to start from, at the end, is not needed. */
function* readEntries(block: Uint8Array): Generator<readonly [key: string, value: Uint8Array]> {
  const restarts = block.length < 4 ? 0 : Buffer.from(block.subarray(-4)).readUInt32LE(0);
  const end = block.length - 4 - 4 * restarts;
  if (end < 0) throw new Error("a block of it has fewer bytes than it says");
  const cursor = new Cursor(block.subarray(0, end));
  let key = "";
  let keyBytes = 0;
  while (cursor.hasMore()) {
    const [shared, own, valueBytes] = [cursor.varint(), cursor.varint(), cursor.varint()];
    key = key.slice(0, shared) + Buffer.from(cursor.take(own)).toString("latin1");
    keyBytes += key.length;
    if (keyBytes > MAX_TOTAL) throw new Error("its keys are too long");
    yield [key, cursor.take(valueBytes)];
  }
}

class Cursor {
  readonly #bytes: Uint8Array;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  hasMore(): boolean {
    return this.#position < this.#bytes.length;
  }

  uint64At(position: number): bigint {
    const { buffer, byteOffset } = this.#bytes;
    return new DataView(buffer, byteOffset + position).getBigUint64(0, true);
  }

  take(length: number): Uint8Array {
    const end = this.#position + length;
    if (end > this.#bytes.length) throw new Error("an entry of it ends beyond its block");
    const taken = this.#bytes.subarray(this.#position, end);
    this.#position = end;
    return taken;
  }

  varint(): number {
    let value = 0;
    for (let scale = 1; scale <= MAX_SCALE; scale *= 128) {
      const byte = this.#bytes[this.#position++];
      if (byte === undefined) throw new Error("a number of it ends beyond its block");
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new Error("a number of it is too large");
  }
}

/** The kind of an element, in the lowest two bits of its tag. */
const LITERAL = 0;
const COPY_1 = 1;
/** Tags of literals from here on say how many bytes of length follow. */
const LONG_LITERAL = 60;
/** A block of a checkpoint's index has some kilobytes; three bytes stand for 64 at most. */
const [MAX_UNPACKED_BYTES, MAX_RATIO] = [64 * 1024 * 1024, 64 / 3];

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
    if (length > Math.min(MAX_UNPACKED_BYTES, MAX_RATIO * this.#bytes.length))
      throw new Error(`a compressed block of it claims ${length} bytes`);
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
