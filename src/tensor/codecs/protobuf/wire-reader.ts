import { invalidArgument, type ServingError } from "../../../errors.ts";

/** The wire types of protobuf that messages of today use; 3 and 4 open and close a group. */
export const WIRE = { varint: 0, fixed64: 1, bytes: 2, group: 3, groupEnd: 4, fixed32: 5 } as const;

/** Fields of a map's entries: every protobuf map is a list of such messages. */
export const MAP_ENTRY = { key: 1, value: 2 } as const;

/** The tag before a field's value, of one of the types of {@link WIRE}. */
export function tagOf(field: number, type: number): number {
  return (field << 3) | type;
}

/** The tag of a length-delimited field: bytes, text, a message or packed numbers. */
export function bytesTag(field: number): number {
  return tagOf(field, WIRE.bytes);
}

/** Depth of nested groups in skipped fields; protobuf's own parsers stop at 100 too. */
const MAX_GROUP_DEPTH = 100;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A part of a byte array. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Texts up to this long are looked at byte by byte; a TextDecoder only pays for longer ones. */
const SHORT_TEXT_BYTES = 24;

/**
 * Reads one protobuf message in place. Every value that would reach past the message, and every other malformed thing,
 * is an `invalid_argument` that names the message and what was wrong.
 */
export class WireReader {
  readonly #bytes: Uint8Array;
  readonly #message: string;
  readonly #start: number;
  readonly #end: number;
  #position: number;
  /** The halves of the varint read last. */
  #low = 0;
  #high = 0;

  /** `message` is the message's type name, for errors. */
  constructor(bytes: Uint8Array, message: string, range: ByteRange = { start: 0, end: bytes.length }) {
    // A Buffer's subarrays stay Buffers, whose slice() does not copy; everything downstream gets plain arrays.
    this.#bytes = Buffer.isBuffer(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length) : bytes;
    this.#message = message;
    this.#start = range.start;
    this.#end = range.end;
    this.#position = range.start;
  }

  /** True while a field is left. */
  hasMore(): boolean {
    return this.#position < this.#end;
  }

  /** The next field's tag: field number × 8 + wire type. */
  tag(): number {
    const tag = this.uint32();
    if (tag < 8) throw this.malformed("a field has number 0");
    return tag;
  }

  /** A varint's low 32 bits. */
  uint32(): number {
    const byte = this.#bytes[this.#position]!;
    if (byte < 0x80 && this.#position < this.#end) {
      this.#position++;
      return byte;
    }
    this.#readVarint();
    return this.#low;
  }

  /** A varint as a signed 64-bit integer. */
  int64(): bigint {
    this.#readVarint();
    return BigInt.asIntN(64, (BigInt(this.#high) << 32n) | BigInt(this.#low));
  }

  /** A varint as a signed 64-bit integer, rounded if a number cannot hold it. */
  integer(): number {
    this.#readVarint();
    return (this.#high | 0) * 2 ** 32 + this.#low;
  }

  /** A length-delimited field's bytes: a view, not a copy. */
  bytes(): Uint8Array {
    return this.take(this.uint32());
  }

  /** Bytes that are left. */
  get left(): number {
    return this.#end - this.#position;
  }

  /** Moves past the next `length` bytes. */
  pass(length: number): void {
    this.#advance(length);
  }

  /** The bytes of the whole message that this one is part of. */
  get source(): Uint8Array {
    return this.#bytes;
  }

  /** Range of a length-delimited field's bytes in {@link source}. */
  range(): ByteRange {
    const length = this.uint32();
    const start = this.#position;
    this.#advance(length);
    return { start, end: this.#position };
  }

  /** The next `length` bytes: a view, not a copy. */
  take(length: number): Uint8Array {
    const start = this.#position;
    this.#advance(length);
    return this.#bytes.subarray(start, this.#position);
  }

  /** A length-delimited field as text; refuses invalid UTF-8, and a text of more bytes. */
  text(maxBytes = Number.POSITIVE_INFINITY): string {
    const bytes = this.bytes();
    if (bytes.length > maxBytes) throw this.malformed(`a text has ${bytes.length} bytes, ${maxBytes} at most are read`);
    if (bytes.length <= SHORT_TEXT_BYTES && isAscii(bytes)) return String.fromCharCode.apply(null, bytes as never);
    try {
      return decoder.decode(bytes);
    } catch (cause) {
      throw this.malformed("a text is not UTF-8", cause);
    }
  }

  /** A length-delimited field as a nested message. */
  nested(message: string): WireReader {
    const length = this.uint32();
    const start = this.#position;
    this.#advance(length);
    return new WireReader(this.#bytes, message, { start, end: this.#position });
  }

  /** The bytes of one value that is not length-delimited: a varint's, or a fixed 4 or 8. */
  scalar(wireType: number): Uint8Array {
    if (wireType === WIRE.fixed32) return this.take(4);
    if (wireType === WIRE.fixed64) return this.take(8);
    const start = this.#position;
    this.uint32();
    return this.#bytes.subarray(start, this.#position);
  }

  /** Passes over the value of an unknown field. */
  skip(tag: number): void {
    this.#skip(tag, 0);
  }

  /** The error for this message, with the reason. */
  malformed(what: string, cause?: unknown): ServingError {
    const place = `byte ${this.#position - this.#start} of ${this.#end - this.#start}`;
    return invalidArgument(`Malformed ${this.#message}: ${what} (${place}).`, cause);
  }

  #skip(tag: number, depth: number): void {
    switch (tag & 7) {
      case WIRE.varint:
        this.uint32();
        return;
      case WIRE.fixed64:
        this.#advance(8);
        return;
      case WIRE.bytes:
        this.#advance(this.uint32());
        return;
      case WIRE.fixed32:
        this.#advance(4);
        return;
      case WIRE.group:
        this.#skipGroup(tag, depth + 1);
        return;
      default:
        throw this.malformed(`field ${tag >>> 3} has wire type ${tag & 7}`);
    }
  }

  #skipGroup(open: number, depth: number): void {
    if (depth > MAX_GROUP_DEPTH) throw this.malformed(`groups are nested more than ${MAX_GROUP_DEPTH} deep`);
    const close = open + 1;
    for (let tag = this.tag(); tag !== close; tag = this.tag()) this.#skip(tag, depth);
  }

  #advance(length: number): void {
    const left = this.#end - this.#position;
    if (length > left) throw this.malformed(`a field claims ${length} bytes, ${left} are left`);
    this.#position += length;
  }

  #readVarint(): void {
    let [low, high] = [0, 0];
    for (let shift = 0; ; shift += 7) {
      if (shift >= 70) throw this.malformed("a varint is longer than 10 bytes");
      if (this.#position >= this.#end) throw this.malformed("it ends inside a varint");
      const byte = this.#bytes[this.#position++]!;
      const bits = byte & 0x7f;
      if (shift < 32) low |= bits << shift;
      if (shift >= 32) high |= bits << (shift - 32);
      else if (shift > 25) high |= bits >>> (32 - shift);
      if (byte < 0x80) break;
    }
    this.#low = low >>> 0;
    this.#high = high >>> 0;
  }
}

function isAscii(bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index++) if (bytes[index]! >= 0x80) return false;
  return true;
}

/**
 * A varint's low 32 bits, and the index behind it, in bytes that nothing has checked: past their end it reads zeros.
 */
export function peekVarint(bytes: Uint8Array, start: number): { readonly value: number; readonly end: number } {
  let value = 0;
  let end = start;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[end++] ?? 0;
    if (shift < 32) value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return { value: value >>> 0, end };
  }
}
