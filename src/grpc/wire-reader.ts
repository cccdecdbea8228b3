import { ServingError } from "../errors.ts";

/** The wire types of protobuf that messages of today use; 3 and 4 open and close a group. */
export const WIRE = { varint: 0, fixed64: 1, bytes: 2, group: 3, groupEnd: 4, fixed32: 5 } as const;

/** How deep groups in skipped fields may be nested; protobuf's own parsers stop at 100 too. */
const MAX_GROUP_DEPTH = 100;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads one protobuf message in place. Every value that would reach past the message, and every other malformed thing,
 * is an `invalid_argument` that names the message and what was wrong.
 */
export class WireReader {
  readonly #bytes: Uint8Array;
  readonly #message: string;
  readonly #end: number;
  #position: number;

  /** `message` is the message's type name, for errors. */
  constructor(bytes: Uint8Array, message: string) {
    // A Buffer's slice and subarray stay Buffers, whose slice() does not copy: everything downstream gets plain arrays.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#message = message;
    this.#position = 0;
    this.#end = bytes.byteLength;
  }

  /** Whether a field is left. */
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
    const bytes = this.#bytes;
    let byte = this.#byte();
    let value = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      if (shift >= 70) throw this.malformed("a varint is longer than 10 bytes");
      if (this.#position >= this.#end) throw this.malformed("it ends inside a varint");
      byte = bytes[this.#position++] as number;
      if (shift < 32) value |= (byte & 0x7f) << shift;
    }
    return value >>> 0;
  }

  /** A varint as a signed 64-bit integer. */
  int64(): bigint {
    let value = 0n;
    for (let shift = 0; ; shift += 7) {
      if (shift >= 70) throw this.malformed("a varint is longer than 10 bytes");
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << BigInt(shift);
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
  }

  /** A length-delimited field's bytes: a view, not a copy. */
  bytes(): Uint8Array {
    return this.take(this.uint32());
  }

  /** The next `length` bytes: a view, not a copy. */
  take(length: number): Uint8Array {
    const start = this.#position;
    const left = this.#end - start;
    if (length > left) throw this.malformed(`a field claims ${length} bytes, ${left} are left`);
    this.#position = start + length;
    return this.#bytes.subarray(start, this.#position);
  }

  /** A length-delimited field as text; refuses what is not UTF-8. */
  text(): string {
    const bytes = this.bytes();
    try {
      return decoder.decode(bytes);
    } catch (cause) {
      throw this.malformed("a text is not UTF-8", cause);
    }
  }

  /** A length-delimited field as a nested message. */
  nested(message: string): WireReader {
    return new WireReader(this.bytes(), message);
  }

  /** The bytes of one value that is not length-delimited: a varint's, or a fixed 4 or 8. */
  scalar(wireType: number): Uint8Array {
    if (wireType === WIRE.fixed32) return this.take(4);
    if (wireType === WIRE.fixed64) return this.take(8);
    const start = this.#position;
    this.uint32();
    return this.#bytes.subarray(start, this.#position);
  }

  /** Passes over the value of a field that nobody wants. */
  skip(tag: number): void {
    this.#skip(tag, 0);
  }

  /** The error for this message, saying what is wrong with it. */
  malformed(what: string, cause?: unknown): ServingError {
    const place = `byte ${this.#position} of ${this.#end}`;
    return new ServingError("invalid_argument", `Malformed ${this.#message}: ${what} (${place}).`, { cause });
  }

  #skip(tag: number, depth: number): void {
    switch (tag & 7) {
      case WIRE.varint:
        this.uint32();
        return;
      case WIRE.fixed64:
        this.take(8);
        return;
      case WIRE.bytes:
        this.bytes();
        return;
      case WIRE.fixed32:
        this.take(4);
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

  #byte(): number {
    if (this.#position >= this.#end) throw this.malformed("it ends inside a varint");
    return this.#bytes[this.#position++] as number;
  }
}
