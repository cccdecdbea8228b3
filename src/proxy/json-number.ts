import type { JsonCursor } from "./json-cursor.ts";
import { decimalToDouble, HEAD_DIGITS, MAX_DIGITS } from "./json-decimal.ts";

const ZERO = 0x30;
const NINE = 0x39;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
/** Setting this bit makes an ASCII letter lower-case. */
const LOWER = 0x20;
const LETTER_E = 0x65;
/** An integer of so many digits is exact in a double. */
const SAFE_DIGITS = 15;
/** The longest text of a 64-bit integer: 19 digits and a sign, or 20 digits. */
const INT64_LENGTH = 20;
const INT64_MIN = -(2n ** 63n);
const UINT64_MAX = 2n ** 64n - 1n;

/**
 * Reads the number at the cursor: exactly the double that JSON.parse gives, and `integral` and `exact` on the cursor.
 * `lenient` also takes NaN, Infinity, Inf and their negatives. Throws for anything else that is no JSON number, and for
 * one beyond the range of a double.
 *
 * Up to 18 digits without an exponent are read here, in one pass; all else, errors included, is left to {@link readOther}.
 */
export function readNumber(cursor: JsonCursor, lenient: boolean): number {
  const { bytes, pos: start } = cursor;
  const negative = bytes[start] === MINUS;
  const first = negative ? start + 1 : start;
  let pos = first;
  let head = 0;
  let tail = 0;
  let digits = 0;
  let point = -1;
  let byte = bytes[pos] as number;
  for (; ; byte = bytes[++pos] as number) {
    if (byte >= ZERO && byte <= NINE) {
      if (digits < HEAD_DIGITS) head = (Math.imul(head, 10) + byte - ZERO) | 0;
      else if (digits < MAX_DIGITS) tail = (Math.imul(tail, 10) + byte - ZERO) | 0;
      if (head !== 0) digits++;
    } else if (byte === POINT && point < 0) point = pos;
    else break;
  }
  const whole = point < 0 ? pos - first : point - first;
  const plain = whole === 1 || (whole > 1 && bytes[first] !== ZERO);
  const limit = point < 0 ? SAFE_DIGITS : MAX_DIGITS;
  if (!plain || point === pos - 1 || digits > limit || (byte | LOWER) === LETTER_E) return readOther(cursor, lenient);
  const exponent = point < 0 ? 0 : point + 1 - pos;
  const value = decimalToDouble(head, tail, Math.max(digits - HEAD_DIGITS, 0), exponent);
  if (value === undefined) return readOther(cursor, lenient);
  cursor.pos = pos;
  cursor.integral = point < 0;
  cursor.exact = undefined;
  return negative ? -value : value;
}

/** The same without haste: long numbers, exponents, words, errors. */
function readOther(cursor: JsonCursor, lenient: boolean): number {
  const { bytes, pos: start } = cursor;
  const first = bytes[start] === MINUS ? start + 1 : start;
  if (!isDigit(bytes[first])) return readWord(cursor, first, lenient);
  const whole = bytes[first] === ZERO ? first + 1 : skipDigits(bytes, first);
  const fraction = skipFraction(cursor, whole);
  const end = skipExponent(cursor, fraction);
  const text = bytes.latin1Slice(start, end);
  const value = Number(text);
  if (!Number.isFinite(value)) throw cursor.error("Number too big to be stored in double.");
  cursor.pos = end;
  const integer = end === whole && text.length <= INT64_LENGTH ? BigInt(text) : undefined;
  cursor.integral = integer !== undefined && integer >= INT64_MIN && integer <= UINT64_MAX;
  cursor.exact = cursor.integral && !Number.isSafeInteger(value) ? integer : undefined;
  return value;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function skipDigits(bytes: Buffer, start: number): number {
  let pos = start;
  while (isDigit(bytes[pos])) pos++;
  return pos;
}

function skipFraction(cursor: JsonCursor, start: number): number {
  if (cursor.bytes[start] !== POINT) return start;
  const end = skipDigits(cursor.bytes, start + 1);
  if (end === start + 1) throw cursor.error("Miss fraction part in number.", end);
  return end;
}

function skipExponent(cursor: JsonCursor, start: number): number {
  const { bytes } = cursor;
  if (((bytes[start] ?? 0) | LOWER) !== LETTER_E) return start;
  const sign = bytes[start + 1];
  const digits = sign === PLUS || sign === MINUS ? start + 2 : start + 1;
  const end = skipDigits(bytes, digits);
  if (end === digits) throw cursor.error("Miss exponent in number.", end);
  return end;
}

const WORDS: readonly (readonly [string, number])[] = [
  ["Infinity", Number.POSITIVE_INFINITY],
  ["Inf", Number.POSITIVE_INFINITY],
  ["NaN", Number.NaN],
];

function readWord(cursor: JsonCursor, start: number, lenient: boolean): number {
  const word = lenient ? WORDS.find(([text]) => cursor.bytes.latin1Slice(start, start + text.length) === text) : undefined;
  if (word === undefined) throw cursor.error("Invalid value.", start);
  const [text, value] = word;
  const negative = start > cursor.pos;
  cursor.pos = start + text.length;
  cursor.integral = false;
  cursor.exact = undefined;
  return negative ? -value : value;
}
