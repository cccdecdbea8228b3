/** Bits that one look into a Huffman table takes, and the longest code there is. */
const LOOK = 16;

/**
 * A Huffman table of a JPEG: by the next 16 bits, the code's length (times 256) and
 * its symbol; 0 if no code begins so.
 */
export type HuffmanTable = Uint16Array;

/**
 * Builds a table of how many codes there are of each length, 1 to 16, and their
 * symbols. Throws an Error for impossible counts.
 */
export function createHuffmanTable(counts: Uint8Array, symbols: Uint8Array): HuffmanTable {
  const table = new Uint16Array(1 << LOOK);
  let [next, symbol] = [0, 0];
  for (const [index, count] of counts.entries()) {
    const length = index + 1;
    const span = 1 << (LOOK - length);
    for (let left = count; left > 0; left--, symbol++, next += span) {
      if (next + span > table.length) throw new Error("Corrupt JPEG data: bad Huffman table");
      table.fill((length << 8) | symbols[symbol]!, next, next + span);
    }
  }
  return table;
}

/** Reads the bits of a JPEG's scan. Throws an Error if they end too early. */
export class EntropyReader {
  readonly #bytes: Uint8Array;
  #at: number;
  #bits = 0;
  #available = 0;
  /** Zeros among the available bits that stand for missing ones. */
  #missing = 0;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  /** Index of the next marker, once all bits are read. */
  get position(): number {
    return this.#at;
  }

  /** The next number of so many bits, at most 16. */
  bits(count: number): number {
    if (count === 0) return 0;
    const value = this.#peek(count);
    this.#consume(count);
    return value;
  }

  /** The next number with this many bits, of which the first is the sign. */
  signed(count: number): number {
    const value = this.bits(count);
    return count > 0 && value < 1 << (count - 1) ? value - (1 << count) + 1 : value;
  }

  /** The next symbol. */
  symbol(table: HuffmanTable): number {
    const found = table[this.#peek(LOOK)]!;
    if (found === 0) throw new Error("Corrupt JPEG data: bad Huffman code");
    this.#consume(found >> 8);
    return found & 0xff;
  }

  /** Passes the marker that parts a scan's intervals. */
  restart(): void {
    const isMarker = this.#bytes[this.#at] === 0xff && (this.#bytes[this.#at + 1]! & 0xf8) === 0xd0;
    if (!isMarker) throw new Error("Corrupt JPEG data: a restart marker is missing");
    this.#at += 2;
    [this.#bits, this.#available, this.#missing] = [0, 0, 0];
  }

  #peek(count: number): number {
    while (this.#available < count) this.#fill();
    return (this.#bits >>> (this.#available - count)) & ((1 << count) - 1);
  }

  #consume(count: number): void {
    this.#available -= count;
    if (this.#available < this.#missing) throw new Error("Corrupt JPEG data: premature end of data segment");
  }

  /** One byte more; a zero follows each 255 that does not begin a marker. */
  #fill(): void {
    const byte = this.#bytes[this.#at];
    const isData = byte !== undefined && (byte !== 0xff || this.#bytes[this.#at + 1] === 0);
    if (isData) this.#at += byte === 0xff ? 2 : 1;
    else this.#missing += 8;
    this.#bits = (this.#bits << 8) | (isData ? byte : 0);
    this.#available += 8;
  }
}
