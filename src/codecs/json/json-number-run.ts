import type { JsonCursor } from "./json-cursor.ts";
import { readIntegerRun } from "./json-integer-run.ts";
import { readNumber } from "./json-number.ts";
import type { NumberStore } from "./json-value.ts";

const SPACE = 0x20;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;

/**
 * Moves the number at the cursor to the store, and those that follow it as long as only commas come between.
 * `mayBeIntegers`: false where integers are so rare that looking for a run of them costs more than it saves.
 */
export function readNumberRun(cursor: JsonCursor, store: NumberStore, mayBeIntegers = true): void {
  if (mayBeIntegers && !readIntegers(cursor, store)) return;
  do readNumber(cursor, store);
  while (skipToNumber(cursor));
}

/** Moves integers to the store up to the first number that is none; answers whether there is one. */
function readIntegers(cursor: JsonCursor, store: NumberStore): boolean {
  while (readIntegerRun(cursor, store)) if (!skipToNumber(cursor)) return false;
  return true;
}

/** Moves over a comma to the number behind it; stays where it is if something else follows. */
function skipToNumber(cursor: JsonCursor): boolean {
  const { bytes, pos } = cursor;
  if (bytes[pos] !== COMMA) return skipSpaceToNumber(cursor);
  const next = bytes[pos + 1] === SPACE ? pos + 2 : pos + 1;
  if (!isNumberStart(bytes[next])) return skipSpaceToNumber(cursor);
  cursor.pos = next;
  return true;
}

function skipSpaceToNumber(cursor: JsonCursor): boolean {
  cursor.skipSpace();
  const comma = cursor.pos;
  if (cursor.bytes[comma] !== COMMA) return false;
  cursor.pos++;
  cursor.skipSpace();
  if (isNumberStart(cursor.bytes[cursor.pos])) return true;
  cursor.pos = comma;
  return false;
}

/** Checks that a byte is the first of a number, except for words such as NaN. */
export function isNumberStart(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= ZERO && byte <= NINE) || byte === MINUS);
}
