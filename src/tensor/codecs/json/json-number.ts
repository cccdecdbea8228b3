import type { JsonCursor } from "./json-cursor.ts";
import { decimalToDouble, HEAD_DIGITS, MAX_FRACTION } from "./json-decimal.ts";
import type { NumberStore } from "./json-value.ts";

const ZERO = 0x30;
const NINE = 0x39;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
/** Setting this bit makes an ASCII letter lower-case. */
const LOWER = 0x20;
const LETTER_E = 0x65;
/** The longest text of a 64-bit integer: 19 digits and a sign, or 20 digits. */
const INT64_LENGTH = 20;
const INT64_MIN = -(2n ** 63n);
const UINT64_MAX = 2n ** 64n - 1n;

/**
 * Moves the number at the cursor to the store: exactly the double that JSON.parse gives, and in addition the integer
 * if a double does not hold it. Takes NaN, Infinity, Inf and their negatives too. Throws for anything else that is
 * no JSON number, and for one beyond the range of a double.
 */
export function readNumber(cursor: JsonCursor, store: NumberStore): void {
  if (!readPlain(cursor, store)) readOther(cursor, store);
}

/**
 * Reads what nearly all numbers are, in one pass: up to nine digits before the point, up to 18 in all, no exponent.
 * Leaves everything else, errors included, to {@link readOther}: then it answers false and changes nothing.
 */
function readPlain(cursor: JsonCursor, store: NumberStore): boolean {
  const { bytes, pos: start } = cursor;
  const negative = bytes[start] === MINUS;
  const first = negative ? start + 1 : start;
  let pos = first;
  let head = 0;
  let digit = digitAt(bytes, pos);
  for (const limit = pos + HEAD_DIGITS; digit <= 9 && pos < limit; digit = digitAt(bytes, ++pos)) {
    head = (Math.imul(head, 10) + digit) | 0;
  }
  const wholeDigits = pos - first;
  const irregular = wholeDigits !== 1 && (wholeDigits === 0 || bytes[first] === ZERO);
  if (irregular || digit <= 9) return false;
  if (bytes[pos] !== POINT) {
    if ((bytes[pos]! | LOWER) === LETTER_E) return false;
    cursor.pos = pos;
    store.push(negative ? -head : head, true);
    return true;
  }
  const point = pos;
  digit = digitAt(bytes, ++pos);
  let limit = pos + HEAD_DIGITS - wholeDigits;
  if (head === 0) {
    while (digit === 0) digit = digitAt(bytes, ++pos);
    limit = pos + HEAD_DIGITS;
  }
  for (; digit <= 9 && pos < limit; digit = digitAt(bytes, ++pos)) head = (Math.imul(head, 10) + digit) | 0;
  const split = pos;
  let tail = 0;
  for (limit = pos + HEAD_DIGITS; digit <= 9 && pos < limit; digit = digitAt(bytes, ++pos)) {
    tail = (Math.imul(tail, 10) + digit) | 0;
  }
  const fraction = pos - point - 1;
  if (digit <= 9 || fraction === 0 || fraction > MAX_FRACTION) return false;
  if ((bytes[pos]! | LOWER) === LETTER_E) return false;
  const value = decimalToDouble(head, tail, pos - split, fraction);
  if (Number.isNaN(value)) return false;
  cursor.pos = pos;
  store.push(negative ? -value : value, false);
  return true;
}

/** The value of a digit; above 9 for any other byte. */
function digitAt(bytes: Buffer, pos: number): number {
  return (bytes[pos]! - ZERO) >>> 0;
}

/** The slow path: long numbers, exponents, words, errors. */
function readOther(cursor: JsonCursor, store: NumberStore): void {
  const { bytes, pos: start } = cursor;
  const first = bytes[start] === MINUS ? start + 1 : start;
  if (!isDigit(bytes[first])) {
    store.push(readWord(cursor, first), false);
    return;
  }
  const whole = bytes[first] === ZERO ? first + 1 : skipDigits(bytes, first);
  const end = skipExponent(cursor, skipFraction(cursor, whole));
  const text = bytes.toString("latin1", start, end);
  const value = Number(text);
  if (!Number.isFinite(value)) throw cursor.error("Number too big to be stored in double.");
  cursor.pos = end;
  store.bound = Math.max(store.bound, Math.abs(value));
  const mayBeInteger = end === whole && text.length <= INT64_LENGTH;
  if (mayBeInteger && !Number.isSafeInteger(value)) pushBigInteger(store, value, BigInt(text));
  else store.push(value, mayBeInteger);
}

function pushBigInteger(store: NumberStore, value: number, integer: bigint): void {
  const fits = integer >= INT64_MIN && integer <= UINT64_MAX;
  if (fits) {
    store.exact ??= new Map();
    store.exact.set(store.length, integer);
  }
  store.push(value, fits);
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

function readWord(cursor: JsonCursor, start: number): number {
  const word = WORDS.find(([text]) => cursor.bytes.toString("latin1", start, start + text.length) === text);
  if (word === undefined) throw cursor.error("Invalid value.", start);
  const [text, value] = word;
  const negative = start > cursor.pos;
  cursor.pos = start + text.length;
  return negative ? -value : value;
}
