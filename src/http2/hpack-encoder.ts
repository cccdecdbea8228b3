import { HeaderField, STATIC_TABLE } from "./header-field.ts";
import { TABLE_BYTES } from "./hpack-decoder.ts";

/** Header fields to send: names in lower case, pseudo-header fields first; several values of a name as an array. */
export type SentHeaders = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** Names whose values answers repeat, so that they are worth an entry of the client's table. */
const REPEATED: ReadonlySet<string> = new Set([
  "content-type",
  "grpc-accept-encoding",
  "grpc-encoding",
  "grpc-status",
  "server",
]);
const MAX_REPEATED_LENGTH = 64;
/** Names whose values no table on the way may have (RFC 7541 §7.1.3). */
const SECRET: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization", "set-cookie"]);

/** First bits of a field's forms (RFC 7541 §6), each with the bits that are left for an integer. */
const INDEXED = { bits: 0x80, mask: 0x7f };
const ADDED = { bits: 0x40, mask: 0x3f };
const NEVER_INDEXED = { bits: 0x10, mask: 0x0f };
const NOT_ADDED = { bits: 0, mask: 0x0f };
const RESIZE = { bits: 0x20, mask: 0x1f };
/** The length of a text that is not in Huffman's code: to write it costs more than it saves on fast networks. */
const PLAIN_TEXT = { bits: 0, mask: 0x7f };
/** Bytes of the longest integer. */
const INTEGER_BYTES = 6;

/** The first index of each name in the static table, and that of each status. */
const NAME_INDEX = new Map<string, number>();
const STATUS_INDEX = new Map<string, number>();
STATIC_TABLE.forEach(({ name, value }, index) => {
  if (!NAME_INDEX.has(name)) NAME_INDEX.set(name, index + 1);
  if (name === ":status") STATUS_INDEX.set(value, index + 1);
});

/** Memory for the block of the moment; all connections share it. */
let block = Buffer.allocUnsafeSlow(4096);

/**
 * Encodes the header blocks of one connection (RFC 7541). The client's table gets the few fields that all answers
 * repeat, as long as there is room: no entry ever leaves it, so that an entry's index is known by its number.
 */
export class HpackEncoder {
  /** The number of each entry, by name and value. */
  readonly #numbers = new Map<string, Map<string, number>>();
  #entries = 0;
  #bytes = 0;
  #maxBytes = TABLE_BYTES;
  #hasNewLimit = false;
  #at = 0;

  /** Says how large a table the client has (SETTINGS_HEADER_TABLE_SIZE); the next block begins with its answer. */
  limitTable(bytes: number): void {
    const maxBytes = Math.min(bytes, TABLE_BYTES);
    if (maxBytes === this.#maxBytes) return;
    this.#maxBytes = maxBytes;
    this.#hasNewLimit = true;
    this.#numbers.clear();
    this.#entries = 0;
    this.#bytes = 0;
  }

  /** The encoded block, valid until any encoder encodes the next one. */
  encode(headers: SentHeaders): Buffer {
    this.#at = 0;
    if (this.#hasNewLimit) this.#resize();
    let hasDigits = false;
    // JavaScript lists names that are numbers before all others, but pseudo-header fields come first (RFC 9113 §8.3).
    for (const name in headers) {
      if (isDigit(name.charCodeAt(0))) hasDigits = true;
      else this.#values(name, headers[name]);
    }
    if (hasDigits) for (const name in headers) if (isDigit(name.charCodeAt(0))) this.#values(name, headers[name]);
    return block.subarray(0, this.#at);
  }

  #values(name: string, value: SentHeaders[string]): void {
    if (typeof value === "string") this.#field(name, value);
    else if (typeof value === "number") this.#field(name, String(value));
    else if (value !== undefined) for (const one of value) this.#field(name, one);
  }

  /** Zero first, so that the client's table is empty as this one is. */
  #resize(): void {
    this.#hasNewLimit = false;
    this.#reserve(2 * INTEGER_BYTES);
    this.#integer(RESIZE, 0);
    this.#integer(RESIZE, this.#maxBytes);
  }

  #field(name: string, value: string): void {
    this.#reserve(name.length + value.length + 3 * INTEGER_BYTES);
    const isRepeated = REPEATED.has(name) && value.length <= MAX_REPEATED_LENGTH;
    const known = name === ":status" ? STATUS_INDEX.get(value) : isRepeated ? this.#index(name, value) : undefined;
    if (known !== undefined) {
      this.#integer(INDEXED, known);
      return;
    }
    const index = NAME_INDEX.get(name) ?? 0;
    if (isRepeated && this.#add(name, value)) this.#integer(ADDED, index);
    else this.#integer(SECRET.has(name) ? NEVER_INDEXED : NOT_ADDED, index);
    if (index === 0) this.#text(name);
    this.#text(value);
  }

  #index(name: string, value: string): number | undefined {
    const number = this.#numbers.get(name)?.get(value);
    return number === undefined ? undefined : STATIC_TABLE.length + this.#entries - number;
  }

  /** Adds an entry if there is room. */
  #add(name: string, value: string): boolean {
    const { size } = new HeaderField(name, value);
    if (this.#bytes + size > this.#maxBytes) return false;
    this.#bytes += size;
    const values = this.#numbers.get(name) ?? new Map<string, number>();
    this.#numbers.set(name, values.set(value, this.#entries++));
    return true;
  }

  #integer({ bits, mask }: typeof INDEXED, value: number): void {
    if (value < mask) {
      block[this.#at++] = bits | value;
      return;
    }
    block[this.#at++] = bits | mask;
    let rest = value - mask;
    for (; rest >= 128; rest >>>= 7) block[this.#at++] = (rest & 127) | 128;
    block[this.#at++] = rest;
  }

  #text(value: string): void {
    this.#integer(PLAIN_TEXT, value.length);
    this.#at += block.write(value, this.#at, "latin1");
  }

  /** Makes room for so many more bytes. */
  #reserve(bytes: number): void {
    if (this.#at + bytes <= block.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.#at + bytes));
    block.copy(larger, 0, 0, this.#at);
    block = larger;
  }
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
