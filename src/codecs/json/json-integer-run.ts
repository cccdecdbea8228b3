import type { JsonCursor } from "./json-cursor.ts";
import { HEAD_DIGITS } from "./json-decimal.ts";
import type { NumberStore } from "./json-value.ts";

const SPACE = 0x20;
const COMMA = 0x2c;
const POINT = 0x2e;
const ZERO = 0x30;
/** Setting this bit makes an ASCII letter lower-case. */
const LOWER = 0x20;
const LETTER_E = 0x65;

/**
 * Moves integers of up to nine digits without a sign to the store, such as pixels and labels, as long as only a comma,
 * and perhaps a space, comes between them. Stops behind the last one; any other number, errors included, is left to
 * others. Answers whether there was one.
 */
export function readIntegerRun(cursor: JsonCursor, store: NumberStore): boolean {
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
