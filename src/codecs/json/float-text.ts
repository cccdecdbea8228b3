import { COMMON_BELOW_BITS, COMMON_FROM_BITS, writeCommon32 } from "./common-float32.ts";
import { writeNine } from "./digit-groups.ts";
import { POWERS, productError, roundHalfEven } from "./exact-product.ts";
import { isPlain, layoutPlain, layoutScientific, openDigits, slowFloatText } from "./float-layout.ts";
import { SHORT_DIGITS, writeShort } from "./short-float.ts";

/** Bytes of the longest text of a number, and more: sign, 17 digits, point, leading zeros, exponent. */
export const MAX_FLOAT_BYTES = 48;

const MINUS = 0x2d;
/** All bits but the sign. */
const MAGNITUDE = 0x7fffffff;
/** Number of digits that always preserve a float32, and a float64. */
const FLOAT32_DIGITS = 9;
const FLOAT64_DIGITS = 17;
/** 10^-n as the nearest double. */
const INVERSE_POWERS = POWERS.map((_, exponent) => Number(`1e-${exponent}`));
/** Scaling errs by less than this below 10^9; nearer to a tie the slow way decides. */
const TIE_MARGIN = 1e-6;
/** A number that is brought back by six digits is nearer to them than this: half of its last bit, as part of 10^6. */
const FLOAT32_MARGIN = 0.0625;
const FLOAT64_MARGIN = 1e-8;
/** 17 digits are handled as eight and nine. */
const LOW_DIGITS = 9;
const LOW_LIMIT = 10 ** LOW_DIGITS;
/** One float, and its bits. */
const FLOAT = new Float32Array(1);
const BITS = new Int32Array(FLOAT.buffer);

/**
 * Writes a float32, given by its bits, as TensorFlow Serving does: six significant digits (C's `%g`) if they bring the
 * value back, else nine; `.0` behind whole numbers; `NaN`, `Infinity` and `-Infinity` bare, which is not strict JSON.
 * Returns where the text ends; the buffer has room for {@link MAX_FLOAT_BYTES} more.
 */
export function writeFloat32(text: DataView, start: number, bits: number): number {
  const magnitude = bits & MAGNITUDE;
  if (magnitude < COMMON_FROM_BITS || magnitude >= COMMON_BELOW_BITS) return writeRare32(text, start, bits);
  // Written over where there is none.
  text.setUint8(start, MINUS);
  return writeCommon32(text, start + (bits >>> 31), magnitude);
}

function writeRare32(text: DataView, start: number, bits: number): number {
  BITS[0] = bits;
  const value = FLOAT[0]!;
  const magnitude = Math.abs(value);
  // Nine digits need the power 8 - exponent.
  if (!(magnitude >= 1e-13 && magnitude < 1e22)) return writeSlow(text, start, value, "float32");
  const exponent = decimalExponent(magnitude);
  const at = value < 0 ? writeMinus(text, start) : start;
  const scale = SHORT_DIGITS - 1 - exponent;
  const exact = scaled(magnitude, scale);
  const digits = (exact + 0.5) | 0;
  if (Math.abs(exact - digits) > FLOAT32_MARGIN || Math.fround(scaled(digits, -scale)) !== magnitude)
    return writeLong32(text, at, magnitude, exponent) ?? writeSlow(text, start, value, "float32");
  return writeShort(text, at, digits, exponent);
}

/** Writes a float64 likewise: six significant digits, else seventeen. */
export function writeFloat64(text: DataView, start: number, value: number): number {
  const magnitude = Math.abs(value);
  // Seventeen digits need the power 16 - exponent.
  if (!(magnitude >= 1e-5 && magnitude < 1e15)) return writeSlow(text, start, value, "float64");
  const exponent = decimalExponent(magnitude);
  const at = value < 0 ? writeMinus(text, start) : start;
  const scale = SHORT_DIGITS - 1 - exponent;
  const exact = scaled(magnitude, scale);
  const digits = (exact + 0.5) | 0;
  if (Math.abs(exact - digits) > FLOAT64_MARGIN || scaled(digits, -scale) !== magnitude)
    return writeLong64(text, at, magnitude, exponent);
  return writeShort(text, at, digits, exponent);
}

function writeMinus(text: DataView, start: number): number {
  text.setUint8(start, MINUS);
  return start + 1;
}

function writeSlow(text: DataView, start: number, value: number, type: "float32" | "float64"): number {
  const slow = slowFloatText(value, type);
  for (let index = 0; index < slow.length; index++) text.setUint8(start + index, slow.charCodeAt(index));
  return start + slow.length;
}

/** The power of ten of the first digit, for magnitudes between 10^-22 and 10^22. */
function decimalExponent(magnitude: number): number {
  let exponent = 0;
  if (magnitude >= 1) {
    while (magnitude >= POWERS[exponent + 1]!) exponent++;
    return exponent;
  }
  do exponent++;
  while (magnitude < INVERSE_POWERS[exponent]!);
  return -exponent;
}

/** value · 10^scale, rounded once. */
function scaled(value: number, scale: number): number {
  return scale >= 0 ? value * POWERS[scale]! : value / POWERS[-scale]!;
}

/** Undefined where the last digit is not certain. */
function writeLong32(text: DataView, start: number, magnitude: number, exponent: number): number | undefined {
  const scale = FLOAT32_DIGITS - 1 - exponent;
  const exact = scaled(magnitude, scale);
  const whole = exact | 0;
  const rest = exact - whole;
  if (Math.abs(rest - 0.5) < TIE_MARGIN) return undefined;
  const kept = FLOAT32_DIGITS - writeNine(text, openDigits(text, start, exponent), rest > 0.5 ? whole + 1 : whole);
  return isPlain(exponent, FLOAT32_DIGITS)
    ? layoutPlain(text, start, exponent, kept)
    : layoutScientific(text, start, exponent, kept);
}

/** Scales exactly: the product as a double and the error of that double. */
function writeLong64(text: DataView, start: number, magnitude: number, exponent: number): number {
  const power = POWERS[FLOAT64_DIGITS - 1 - exponent]!;
  const product = magnitude * power;
  const error = roundHalfEven(productError(magnitude, power, product));
  let high = Math.floor(product / LOW_LIMIT);
  let low = product - high * LOW_LIMIT + error;
  if (low < 0 || low >= LOW_LIMIT) {
    const carry = Math.floor(low / LOW_LIMIT);
    high += carry;
    low -= carry * LOW_LIMIT;
  }
  const place = openDigits(text, start, exponent);
  const before = text.getUint8(place - 1);
  // Eight digits behind a zero.
  const highZeros = writeNine(text, place - 1, high);
  text.setUint8(place - 1, before);
  const lowZeros = writeNine(text, place + FLOAT64_DIGITS - LOW_DIGITS, low);
  const kept = FLOAT64_DIGITS - (lowZeros < LOW_DIGITS ? lowZeros : LOW_DIGITS + highZeros);
  return isPlain(exponent, FLOAT64_DIGITS)
    ? layoutPlain(text, start, exponent, kept)
    : layoutScientific(text, start, exponent, kept);
}
