import { HeaderField, STATIC_TABLE } from "./header-field.ts";
import { decodeHuffman } from "./huffman.ts";
import { ConnectionError, ERROR } from "./protocol.ts";

/** Largest size of a dynamic table in bytes: the protocol's own, which this side never changes (RFC 9113 §6.5.2). */
export const TABLE_BYTES = 4096;
/** Largest integer of a block; a longer form of a smaller one is refused too (RFC 7541 §5.1). */
const MAX_INTEGER = 2 ** 24;
/** Entries that have left a table before their places are given back. */
const MAX_LEFT = 64;
/** Size of the largest block of indexes that is remembered, and of its list, in bytes. */
const REMEMBERED_BYTES = 256;
const REMEMBERED_LIST_BYTES = 4096;
/** Factor by which texts may exceed the number of fields before the connection is ended: to make them takes time. */
const MOST_TEXTS = 4;
const NOTHING = Buffer.alloc(0);

/** Limits on a header list. */
export interface HeaderLimits {
  /** Bytes, as SETTINGS_MAX_HEADER_LIST_SIZE counts them (RFC 9113 §6.5.2). */
  readonly maxBytes: number;
  readonly maxFields: number;
}

/** The fields of a block in order; those beyond a limit are left out. */
export interface HeaderList {
  readonly fields: readonly HeaderField[];
  readonly isTooLarge: boolean;
}

/** Entries that both sides of a connection remember in one direction (RFC 7541 §2.3.2), the oldest first. */
class DynamicTable {
  #entries: (HeaderField | undefined)[] = [];
  /** Index of the oldest entry; those before it have left. */
  #first = 0;
  #bytes = 0;
  #maxBytes = TABLE_BYTES;

  /** The entry that was added as the `age`th last; undefined if there are fewer. */
  get(age: number): HeaderField | undefined {
    const index = this.#entries.length - age;
    return index < this.#first ? undefined : this.#entries[index];
  }

  /** Adds an entry; one that is larger than the table empties it, which is no error (RFC 7541 §4.4). */
  add(field: HeaderField): void {
    this.#entries.push(field);
    this.#bytes += field.size;
    this.#evict();
  }

  resize(bytes: number): void {
    this.#maxBytes = bytes;
    this.#evict();
  }

  #evict(): void {
    while (this.#bytes > this.#maxBytes) {
      this.#bytes -= (this.#entries[this.#first] as HeaderField).size;
      this.#entries[this.#first++] = undefined;
    }
    if (this.#first <= MAX_LEFT) return;
    this.#entries = this.#entries.slice(this.#first);
    this.#first = 0;
  }
}

/** Memory for a decoded text; all connections share it. */
let text = Buffer.allocUnsafeSlow(4096);

/**
 * Decodes the header blocks of one connection in their order (RFC 7541). All of a block is decoded even if its list is
 * too large, since the table has to remain that of the client.
 */
export class HpackDecoder {
  readonly #limits: HeaderLimits;
  readonly #table = new DynamicTable();
  #block: Buffer = NOTHING;
  #at = 0;
  #end = 0;
  /**
   * The last block, if it had indexes alone, and its list. Clients send the same head for call after call: then neither
   * it nor its meaning changes.
   */
  #remembered: Uint8Array | undefined;
  #rememberedBytes = -1;
  #rememberedList: HeaderList | undefined;

  constructor(limits: HeaderLimits) {
    this.#limits = limits;
  }

  /**
   * Decodes the block that lies between two indexes. Returns the same list as the last time if it is the same for sure.
   * Throws a ConnectionError for an invalid block, after which the table is of no use.
   */
  decode(block: Buffer, start: number, end: number): HeaderList {
    if (this.#rememberedList !== undefined && this.#isRemembered(block, start, end)) return this.#rememberedList;
    this.#block = block;
    this.#at = start;
    this.#end = end;
    const fields: HeaderField[] = [];
    let size = 0;
    let count = 0;
    let texts = 0;
    const { maxBytes, maxFields } = this.#limits;
    while (this.#at < end) {
      const first = block[this.#at] as number;
      if (first < 0x80) texts++;
      if (texts > MOST_TEXTS * maxFields) throw new ConnectionError(ERROR.enhanceYourCalm, "too_many_headers");
      if (first >= 0x20 && first < 0x40) {
        this.#resize(count === 0);
        continue;
      }
      const field = this.#field(first);
      size += field.size;
      count++;
      if (size <= maxBytes && count <= maxFields) fields.push(field);
    }
    const list = { fields, isTooLarge: fields.length < count };
    const isSmall = end - start <= REMEMBERED_BYTES && size <= REMEMBERED_LIST_BYTES;
    this.#remember(texts === 0 && isSmall ? list : undefined, start);
    // It may lie in much memory.
    this.#block = NOTHING;
    return list;
  }

  /** The representations of a field (RFC 7541 §6.1, §6.2), by their first bits. */
  #field(first: number): HeaderField {
    if (first >= 0x80) return this.#entry(this.#integer(0x7f));
    if (first < 0x40) return this.#literal(0x0f, first >= 0x10);
    const field = this.#literal(0x3f, false);
    this.#table.add(field);
    return field;
  }

  #entry(index: number): HeaderField {
    const age = index - STATIC_TABLE.length;
    const field = age > 0 ? this.#table.get(age) : STATIC_TABLE[index - 1];
    if (field === undefined) throw invalid(`the index ${index} has no entry`);
    return field;
  }

  #literal(mask: number, isNeverIndexed: boolean): HeaderField {
    const index = this.#integer(mask);
    const name = index === 0 ? this.#string() : this.#entry(index).name;
    return new HeaderField(name, this.#string(), isNeverIndexed);
  }

  /** A new size of the table, which may only come before the first field (RFC 7541 §4.2, §6.3). */
  #resize(isFirst: boolean): void {
    const bytes = this.#integer(0x1f);
    if (!isFirst) throw invalid("the table's size changes after a field");
    if (bytes > TABLE_BYTES) throw invalid(`the table's size is above ${TABLE_BYTES}`);
    this.#table.resize(bytes);
  }

  /** An integer that begins in the masked bits of a byte (RFC 7541 §5.1). */
  #integer(mask: number): number {
    let value = this.#byte() & mask;
    if (value < mask) return value;
    for (let factor = 1; factor < MAX_INTEGER; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * factor;
      if (byte < 128 && value <= MAX_INTEGER) return value;
    }
    throw invalid("an integer is too large");
  }

  #byte(): number {
    if (this.#at >= this.#end) throw invalid("the block ends too early");
    return this.#block[this.#at++] as number;
  }

  /** A text, as it is or in Huffman's code (RFC 7541 §5.2). */
  #string(): string {
    const isCoded = this.#at < this.#end && (this.#block[this.#at] as number) >= 0x80;
    const length = this.#integer(0x7f);
    const start = this.#at;
    if (length > this.#end - start) throw invalid("a text is longer than its block");
    this.#at += length;
    if (!isCoded) return this.#block.toString("latin1", start, this.#at);
    // The shortest code has five bits.
    if (text.length < 2 * length) text = Buffer.allocUnsafeSlow(2 * length);
    const decoded = decodeHuffman(this.#block, start, this.#at, text);
    if (decoded < 0) throw invalid("a text is not in Huffman's code");
    return text.toString("latin1", 0, decoded);
  }

  #isRemembered(block: Buffer, start: number, end: number): boolean {
    if (end - start !== this.#rememberedBytes) return false;
    const remembered = this.#remembered as Uint8Array;
    for (let at = start; at < end; at++) if (block[at] !== remembered[at - start]) return false;
    return true;
  }

  #remember(list: HeaderList | undefined, start: number): void {
    this.#rememberedList = list;
    if (list === undefined) return;
    this.#remembered ??= new Uint8Array(REMEMBERED_BYTES);
    this.#remembered.set(this.#block.subarray(start, this.#end));
    this.#rememberedBytes = this.#end - start;
  }
}

function invalid(what: string): ConnectionError {
  return new ConnectionError(ERROR.compression, `HPACK: ${what}`);
}
