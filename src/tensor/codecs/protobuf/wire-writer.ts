import { ServingError } from "../../../errors.ts";
import { varintSize, wideVarintSize, writeVarint } from "./packed-varints.ts";
import { bytesTag, tagOf, WIRE } from "./wire-reader.ts";

/** A part of a message with its exact size, which writes itself and returns its end. */
export interface WirePart {
  readonly size: number;
  /** Number of these bytes that it borrows if it may, instead of copying them; absent = none. */
  readonly borrowedBytes?: number;
  /** Adds borrowed bytes to `borrowed` instead of writing them, if that is given. */
  write(target: Buffer, position: number, borrowed?: Borrowed[]): number;
}

/** Bytes of a message that stay where they are. */
interface Borrowed {
  readonly bytes: Uint8Array;
  /** Bytes of the message written before them, without the borrowed ones. */
  readonly position: number;
}

/** Size from which values are borrowed, in bytes: copying fewer costs less than sending one more buffer. */
const MIN_BORROWED_BYTES = 16 * 1024;

/** Writes a message into one buffer of exactly its size. */
export function encodeMessage(parts: readonly WirePart[]): Buffer {
  return encodePieces(parts, { lead: 0, borrows: false })[0];
}

/** Form in which a message is written into pieces. */
interface PieceOptions {
  /** Bytes at the beginning of the first piece that are left to the caller. */
  readonly lead: number;
  /** Borrows large values instead of copying them: they must not change until they are sent. */
  readonly borrows: boolean;
}

/**
 * Writes a message into buffers that make it in this order; one, unless it borrows. Throws `resource_exhausted` for
 * one of more than 2 GB.
 */
export function encodePieces(parts: readonly WirePart[], { lead, borrows }: PieceOptions): [Buffer, ...Uint8Array[]] {
  const borrowed: Borrowed[] | undefined = borrows ? [] : undefined;
  const size = sizeOf(parts);
  if (size > MAX_MESSAGE_BYTES) throw tooLarge(size);
  const target = Buffer.allocUnsafe(lead + size - (borrows ? borrowedBytesOf(parts) : 0));
  const end = writeAll(parts, target, lead, borrowed);
  if (end !== target.length) throw new RangeError(`A message of ${target.length} bytes was written as ${end}.`);
  return borrowed === undefined || borrowed.length === 0 ? [target] : interleave(target, borrowed);
}

/** The longest message, in bytes: nearly all readers of protobuf have signed integers of 32 bits for lengths. */
export const MAX_MESSAGE_BYTES = 2 ** 31 - 1;

function tooLarge(bytes: number): ServingError {
  return new ServingError(
    "resource_exhausted",
    `The message has ${bytes} bytes; one of protobuf has ${MAX_MESSAGE_BYTES} at most. Send fewer values at a time, or over HTTP.`,
  );
}

function interleave(written: Buffer, borrowed: readonly Borrowed[]): [Buffer, ...Uint8Array[]] {
  const [first] = borrowed as [Borrowed];
  const pieces: [Buffer, ...Uint8Array[]] = [written.subarray(0, first.position)];
  borrowed.forEach(({ bytes, position }, index) => {
    const rest = written.subarray(position, borrowed[index + 1]?.position);
    pieces.push(bytes);
    if (rest.length > 0) pieces.push(rest);
  });
  return pieces;
}

/** A nested message; present even without parts. */
export function messageField(field: number, parts: readonly WirePart[]): WirePart {
  return new DelimitedField(field, parts, PARTS);
}

/** Text; nothing if empty, which proto3 readers take for the same. */
export function textField(field: number, text: string): WirePart {
  return text === "" ? NOTHING : textElement(field, text);
}

/** Text, also if empty: an element of a repeated field, or a map's key. */
export function textElement(field: number, text: string): WirePart {
  return new DelimitedField(field, text, TEXT);
}

/** Bytes, also if empty. */
export function bytesField(field: number, bytes: Uint8Array): WirePart {
  return new DelimitedField(field, bytes, BYTES);
}

/** Bytes that lie in several places. */
export function piecesField(field: number, pieces: readonly Uint8Array[]): WirePart {
  return new DelimitedField(field, pieces, PIECES);
}

/** A length-delimited field whose content of `size` bytes `write` writes. */
export function delimited(field: number, size: number, write: WirePart["write"]): WirePart {
  return new DelimitedField(field, { size, write }, WRITTEN);
}

/** An integer of up to 64 bits; nothing if 0, which proto3 readers take for the same. */
export function integerField(field: number, value: number | bigint): WirePart {
  const isNumber = typeof value === "number";
  // A safe integer, in two's complement.
  const low = isNumber ? value >>> 0 : Number(BigInt.asUintN(32, value));
  const high = isNumber ? Math.floor(value / 2 ** 32) >>> 0 : Number(BigInt.asUintN(32, value >> 32n));
  return low === 0 && high === 0 ? NOTHING : new IntegerField(field, low, high);
}

/** A float of 64 bits; nothing if 0. */
export function doubleField(field: number, value: number): WirePart {
  if (Object.is(value, 0)) return NOTHING;
  const tag = tagOf(field, WIRE.fixed64);
  const size = varintSize(tag) + Float64Array.BYTES_PER_ELEMENT;
  return { size, write: (target, at) => target.writeDoubleLE(value, writeVarint(tag, 0, target, at)) };
}

/** An unsigned integer of 64 bits that always takes eight bytes; nothing if 0. */
export function fixed64Field(field: number, value: bigint): WirePart {
  if (value === 0n) return NOTHING;
  const tag = tagOf(field, WIRE.fixed64);
  const size = varintSize(tag) + BigInt64Array.BYTES_PER_ELEMENT;
  return { size, write: (target, at) => target.writeBigUInt64LE(value, writeVarint(tag, 0, target, at)) };
}

/** A float of 32 bits; nothing if 0. */
export function floatField(field: number, value: number): WirePart {
  return Object.is(value, 0) ? NOTHING : new FloatField(field, value);
}

class FloatField implements WirePart {
  readonly size: number;
  readonly #tag: number;
  readonly #value: number;

  constructor(field: number, value: number) {
    this.#tag = tagOf(field, WIRE.fixed32);
    this.#value = value;
    this.size = varintSize(this.#tag) + Float32Array.BYTES_PER_ELEMENT;
  }

  write(target: Buffer, position: number): number {
    return target.writeFloatLE(this.#value, writeVarint(this.#tag, 0, target, position));
  }
}

const NOTHING: WirePart = { size: 0, write: (_target, position) => position };

/** Content of a length-delimited field. */
interface ContentKind<Content> {
  size(content: Content): number;
  borrowedBytes(content: Content): number;
  write(content: Content, target: Buffer, position: number, borrowed?: Borrowed[]): number;
}

const PARTS: ContentKind<readonly WirePart[]> = { size: sizeOf, borrowedBytes: borrowedBytesOf, write: writeAll };
const TEXT: ContentKind<string> = {
  size: (text) => Buffer.byteLength(text),
  borrowedBytes: () => 0,
  write: (text, target, position) => position + target.write(text, position),
};
const BYTES: ContentKind<Uint8Array> = {
  size: (bytes) => bytes.length,
  borrowedBytes: ({ length }) => (length < MIN_BORROWED_BYTES ? 0 : length),
  write: (bytes, target, position, borrowed) => {
    if (borrowed !== undefined && bytes.length >= MIN_BORROWED_BYTES) {
      borrowed.push({ bytes, position });
      return position;
    }
    target.set(bytes, position);
    return position + bytes.length;
  },
};
const PIECES: ContentKind<readonly Uint8Array[]> = {
  size: (pieces) => pieces.reduce((sum, { length }) => sum + length, 0),
  borrowedBytes: (pieces) => pieces.reduce((sum, bytes) => sum + BYTES.borrowedBytes(bytes), 0),
  write: (pieces, target, position, borrowed) =>
    pieces.reduce((end, bytes) => BYTES.write(bytes, target, end, borrowed), position),
};
const WRITTEN: ContentKind<WirePart> = {
  size: ({ size }) => size,
  borrowedBytes: () => 0,
  write: (part, target, position) => part.write(target, position),
};

/** One class and no closures: a small answer has a dozen parts, and closures take twice the memory. */
class DelimitedField<Content> implements WirePart {
  readonly size: number;
  readonly borrowedBytes: number;
  readonly #tag: number;
  readonly #contentSize: number;
  readonly #content: Content;
  readonly #kind: ContentKind<Content>;

  constructor(field: number, content: Content, kind: ContentKind<Content>) {
    const contentSize = kind.size(content);
    this.#tag = bytesTag(field);
    this.#contentSize = contentSize;
    this.#content = content;
    this.#kind = kind;
    this.size = varintSize(this.#tag) + varintSize(contentSize) + contentSize;
    this.borrowedBytes = kind.borrowedBytes(content);
  }

  write(target: Buffer, position: number, borrowed?: Borrowed[]): number {
    const start = writeVarint(this.#contentSize, 0, target, writeVarint(this.#tag, 0, target, position));
    return this.#kind.write(this.#content, target, start, borrowed);
  }
}

class IntegerField implements WirePart {
  readonly size: number;
  readonly #tag: number;
  readonly #low: number;
  readonly #high: number;

  constructor(field: number, low: number, high: number) {
    this.#tag = tagOf(field, WIRE.varint);
    this.#low = low;
    this.#high = high;
    this.size = varintSize(this.#tag) + wideVarintSize(low, high);
  }

  write(target: Buffer, position: number): number {
    return writeVarint(this.#low, this.#high, target, writeVarint(this.#tag, 0, target, position));
  }
}

function sizeOf(parts: readonly WirePart[]): number {
  let size = 0;
  for (const part of parts) size += part.size;
  return size;
}

function borrowedBytesOf(parts: readonly WirePart[]): number {
  let bytes = 0;
  for (const { borrowedBytes = 0 } of parts) bytes += borrowedBytes;
  return bytes;
}

function writeAll(parts: readonly WirePart[], target: Buffer, position: number, borrowed?: Borrowed[]): number {
  let end = position;
  for (const part of parts) end = part.write(target, end, borrowed);
  return end;
}
