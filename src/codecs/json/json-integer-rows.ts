import type { JsonCursor } from "./json-cursor.ts";
import { HEAD_DIGITS } from "./json-decimal.ts";
import type { NumberStore } from "./json-value.ts";

const SPACE = 0x20;
const COMMA = 0x2c;
const ZERO = 0x30;
const NINE = 0x39;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;

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
