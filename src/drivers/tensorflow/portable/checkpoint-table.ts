import { maskedCrc32c } from "../../../codecs/crc32c.ts";
import { decompressSnappy } from "./decompress-snappy.ts";

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
 * text) and values. Throws an Error saying what is wrong with the bytes.
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

/** Old versions of TensorFlow compress the index with Snappy where they were built with it. */
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
