import { constants, isUtf8 } from "node:buffer";
import { invalidArgument, type ServingError } from "../../../errors.ts";

const NUL = 0;
/** Bytes that no number goes on with: what a text usually ends with. */
const STOPS = new Set([...'}]" \n\r\t'].map((character) => character.charCodeAt(0)));

/** Position of a reader in JSON text. */
export class JsonCursor {
  /**
   * The text. Its last byte cannot be part of a number (a NUL is appended if it could): so scanning a number
   * never runs past the end, which would slow all scans down for good.
   */
  readonly bytes: Buffer;
  /** Length of the text without an appended NUL. */
  readonly end: number;
  pos = 0;
  readonly #before: number;

  /** `before` = bytes before the text, to which the offsets in errors are added. */
  constructor(text: Uint8Array, before = 0) {
    this.#before = before;
    const bytes = Buffer.isBuffer(text) ? text : Buffer.from(text.buffer, text.byteOffset, text.byteLength);
    this.end = bytes.length;
    this.bytes = STOPS.has(bytes[bytes.length - 1] ?? NUL) ? bytes : Buffer.concat([bytes, Buffer.of(NUL)]);
  }

  /** Moves past the mark that some Windows programs put before UTF-8 text. */
  skipByteOrderMark(): void {
    const { bytes } = this;
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) this.pos = 3;
  }

  /** Moves past spaces, tabs and line ends. */
  skipSpace(): void {
    const { bytes, end } = this;
    let pos = this.pos;
    while (pos < end && isSpace(bytes[pos]!)) pos++;
    this.pos = pos;
  }

  /** The error for invalid JSON, with the text and the offset of TensorFlow Serving's parser. */
  error(what: string, offset = this.pos): ServingError {
    return invalidArgument(`JSON Parse error: ${what} at offset: ${this.#before + Math.min(offset, this.end)}`);
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
/** 1 for ASCII characters without an escape in a string. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= 0x20 && byte < 0x80 && byte !== QUOTE && byte !== BACKSLASH),
);
const ESCAPED = new Set([...'"\\/bfnrt'].map((character) => character.charCodeAt(0)));

/**
 * Reads the string whose opening quote is at the cursor. Throws for bad escapes, lone surrogates, control characters
 * and bytes that are not UTF-8, so that every string is well-formed text.
 */
export function readString(cursor: JsonCursor): string {
  const { bytes } = cursor;
  const start = cursor.pos + 1;
  const plainEnd = skipPlain(bytes, start);
  if (bytes[plainEnd] === QUOTE) {
    assertReadable(cursor, plainEnd - start);
    cursor.pos = plainEnd + 1;
    return bytes.toString("latin1", start, plainEnd);
  }
  const end = findEnd(cursor, plainEnd);
  assertReadable(cursor, end - start);
  if (!isUtf8(bytes.subarray(plainEnd, end))) throw cursor.error("Invalid encoding in string.", plainEnd);
  cursor.pos = end + 1;
  // Checked above for all errors that JSON.parse finds, and for those that it does not.
  return JSON.parse(bytes.toString("utf8", start - 1, end + 1)) as string;
}

/** Maximum length of JavaScript's strings. */
function assertReadable(cursor: JsonCursor, bytes: number): void {
  if (bytes + 2 <= constants.MAX_STRING_LENGTH) return;
  throw cursor.error(
    `String of ${bytes} bytes; one may have ${constants.MAX_STRING_LENGTH - 2} at most, send it in a binary form.`,
  );
}

/** Index of the closing quote of the string at the cursor, if it is ASCII without escapes; else -1. */
function plainStringEnd({ bytes, pos }: JsonCursor): number {
  const end = skipPlain(bytes, pos + 1);
  return bytes[end] === QUOTE ? end : -1;
}

function skipPlain(bytes: Buffer, start: number): number {
  let pos = start;
  while (PLAIN[bytes[pos]!] === 1) pos++;
  return pos;
}

/** The position of the closing quote. */
function findEnd(cursor: JsonCursor, start: number): number {
  const { bytes, end } = cursor;
  let pos = start;
  for (let byte = bytes[pos]; byte !== QUOTE; byte = bytes[pos]) {
    if (byte === undefined || pos >= end) throw cursor.error("Missing a closing quotation mark in string.", pos);
    if (byte < 0x20) throw cursor.error("Invalid escape character in string.", pos);
    pos = byte === BACKSLASH ? skipEscape(cursor, pos) : skipPlain(bytes, pos + 1);
  }
  return pos;
}

function skipEscape(cursor: JsonCursor, start: number): number {
  const byte = cursor.bytes[start + 1];
  if (byte !== undefined && ESCAPED.has(byte)) return start + 2;
  if (byte !== LETTER_U) throw cursor.error("Invalid escape character in string.", start);
  const unit = readHex(cursor, start + 2, start);
  if (unit < 0xd800 || unit > 0xdfff) return start + 6;
  const isPair = unit < 0xdc00 && cursor.bytes[start + 6] === BACKSLASH && cursor.bytes[start + 7] === LETTER_U;
  const second = isPair ? readHex(cursor, start + 8, start) : 0;
  if (second < 0xdc00 || second > 0xdfff) throw cursor.error("The surrogate pair in string is invalid.", start);
  return start + 12;
}

/** The value of each byte that is a hexadecimal digit; -1 for all others. */
const HEX = Int8Array.from({ length: 256 }, (_, byte) => {
  const digit = String.fromCharCode(byte);
  return /^[0-9a-fA-F]$/.test(digit) ? Number.parseInt(digit, 16) : -1;
});

function readHex(cursor: JsonCursor, start: number, backslash: number): number {
  const { bytes } = cursor;
  let unit = 0;
  for (let at = start; at < start + 4; at++) {
    const digit = HEX[bytes[at] ?? 0] ?? -1;
    if (digit < 0) throw cursor.error("Incorrect hex digit after \\u escape in string.", backslash);
    unit = 16 * unit + digit;
  }
  return unit;
}

/** Names that are remembered, at most; a power of two. */
const SLOTS = 256;
/** Longer names are not remembered. */
const MAX_LENGTH = 64;

/** Names that were read before, each in the slot of its length and outer characters. */
const known: string[] = new Array(SLOTS).fill("");

/**
 * Reads the member name whose opening quote is at the cursor, as {@link readString} does. Names are the same from
 * request to request, and a string that exists costs a comparison instead of its making.
 */
export function readKey(cursor: JsonCursor): string {
  const { bytes, pos } = cursor;
  const start = pos + 1;
  const end = plainStringEnd(cursor);
  const length = end - start;
  if (length < 1 || length > MAX_LENGTH) return readString(cursor);
  const slot = (length + 7 * bytes[start]! + 31 * bytes[end - 1]!) % SLOTS;
  const name = known[slot]!;
  if (!isAt(bytes, start, length, name)) return remember(slot, readString(cursor));
  cursor.pos = end + 1;
  return name;
}

function remember(slot: number, name: string): string {
  known[slot] = name;
  return name;
}

function isAt(bytes: Buffer, start: number, length: number, text: string): boolean {
  if (text.length !== length) return false;
  for (let index = 0; index < length; index++) if (bytes[start + index] !== text.charCodeAt(index)) return false;
  return true;
}
