import { constants, isUtf8 } from "node:buffer";
import type { JsonCursor } from "./json-cursor.ts";

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
export function plainStringEnd({ bytes, pos }: JsonCursor): number {
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

function readHex(cursor: JsonCursor, start: number, backslash: number): number {
  const digits = cursor.bytes.toString("latin1", start, start + 4);
  if (!/^[0-9a-fA-F]{4}$/.test(digits))
    throw cursor.error("Incorrect hex digit after \\u escape in string.", backslash);
  return Number.parseInt(digits, 16);
}
