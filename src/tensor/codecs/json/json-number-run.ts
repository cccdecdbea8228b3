import type { JsonCursor } from "./json-cursor.ts";
import { HEAD_DIGITS } from "./json-decimal.ts";
import { readNumber } from "./json-number.ts";
import type { NumberStore } from "./json-value.ts";

const SPACE = 0x20;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
/** Setting this bit makes an ASCII letter lower-case. */
const LOWER = 0x20;
const LETTER_E = 0x65;

/**
 * Moves the number at the cursor to the store, and those that follow it as long as only commas come between.
 * `mayBeIntegers`: false if integers are so rare that looking for a run of them costs more than it saves.
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
  return isDigit(byte) || byte === MINUS;
}

/**
 * Moves integers of up to nine digits without a sign to the store, such as pixels and labels, as long as only a comma,
 * and perhaps a space, comes between them. Stops behind the last one; any other number, errors included, is left to
 * others. Answers whether there was one.
 */
function readIntegerRun(cursor: JsonCursor, store: NumberStore): boolean {
  const { bytes } = cursor;
  let start = cursor.pos;
  for (;;) {
    let pos = start;
    let value = 0;
    let digit = (bytes[pos]! - ZERO) >>> 0;
    for (; digit <= 9; digit = (bytes[++pos]! - ZERO) >>> 0) value = (Math.imul(value, 10) + digit) | 0;
    const count = pos - start;
    const end = bytes[pos]!;
    const isOther = count === 0 || count > HEAD_DIGITS || (count > 1 && bytes[start] === ZERO);
    if (isOther || end === POINT || (end | LOWER) === LETTER_E) return start > cursor.pos;
    store.push(value, true);
    cursor.pos = pos;
    if (end !== COMMA) return true;
    start = bytes[pos + 1] === SPACE ? pos + 2 : pos + 1;
    // The space may be the text's last byte, and then the number behind it does not end.
    if (start === bytes.length) return true;
  }
}

/**
 * Moves whole rows of `width` integers to the store, such as the pixels of an image, in one loop: from the cursor,
 * which is at the first number of a row, to the first row that holds anything but integers as readIntegerRun takes
 * them, that no other row follows, or for which the store has no room. Answers the number of rows.
 */
export function readIntegerRows(cursor: JsonCursor, store: NumberStore, width: number): number {
  const { bytes } = cursor;
  const { values } = store;
  let at = cursor.pos;
  let rows = 0;
  for (let length = store.length; length + width <= values.length; length += width) {
    for (let column = 1; column <= width; column++) {
      const start = at;
      let value = 0;
      let digit = (bytes[at]! - ZERO) >>> 0;
      for (; digit <= 9; digit = (bytes[++at]! - ZERO) >>> 0) value = (Math.imul(value, 10) + digit) | 0;
      const count = at - start;
      if (count === 0 || count > HEAD_DIGITS || (count > 1 && bytes[start] === ZERO)) return rows;
      values[length + column - 1] = value;
      if (column === width) break;
      if (bytes[at] !== COMMA) return rows;
      at += bytes[at + 1] === SPACE ? 2 : 1;
      // The space may be the text's last byte, and then the number behind it does not end.
      if (at === bytes.length) return rows;
    }
    if (bytes[at] !== CLOSE_LIST || bytes[at + 1] !== COMMA) return rows;
    at += bytes[at + 2] === SPACE ? 3 : 2;
    if (bytes[at] !== OPEN_LIST || !isDigit(bytes[at + 1])) return rows;
    cursor.pos = ++at;
    store.length = length + width;
    rows++;
  }
  return rows;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}
