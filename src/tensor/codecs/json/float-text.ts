import {
  GROUPS,
  isPlain,
  layoutPlain,
  layoutScientific,
  openDigits,
  SHORT_DIGITS,
  slowFloatText,
  writeNine,
  writeShort,
} from "./float-layout.ts";
import { POWERS, productError, roundHalfEven } from "./json-decimal.ts";

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
  // Written over if there is none.
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

/** Undefined if the last digit is not certain. */
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

const DIGITS = 9;
/** A float32 has 8 bits of the power of two, of which 127 is 2^0, above 23 of its digits. */
const POWERS_OF_TWO = 256;
const POWER_OF_ONE = 127;
const MANTISSA_BITS = 23;
/** Added and subtracted, it rounds a double to the nearest integer, the even one of two. */
const ROUNDER = 2 ** 52 + 2 ** 51;
const ZERO = 0x30;
/** `0.00` as four bytes, the first lowest. */
const ZERO_POINT = 0x30302e30;
const THREE_BYTES = 0xffffff;
const POINT_BEHIND_FIRST = 0x2e00;

/** Bits of the magnitudes that {@link writeCommon32} takes: from 10^-4 on, */
const COMMON_FROM_BITS = bitsOf(1e-4);
/** and below 10^9. */
const COMMON_BELOW_BITS = bitsOf(1e9);

/** The power of ten of the smallest number with each power of two, */
const EXPONENTS = Int8Array.from({ length: POWERS_OF_TWO }, (_, power) =>
  Math.floor((power - POWER_OF_ONE) * Math.log10(2)),
);
/** and the bits of the first with the next power of ten. */
const NEXT_BITS = Int32Array.from(EXPONENTS, (exponent) => bitsOf(Number(`1e${exponent + 1}`)));

/** By the power of two, and whether the power of ten is the next: what makes nine digits of such numbers, */
const SCALES = Float64Array.from(
  { length: 2 * POWERS_OF_TWO },
  (_, place) => POWERS[DIGITS - 1 - exponentAt(place)] ?? 0,
);
/** and half of their last bit in units of the ninth digit: six digits that are nearer bring the number back. */
const HALF_BITS = SCALES.map((scale, place) => scale * 2 ** ((place >>> 1) - POWER_OF_ONE - MANTISSA_BITS - 1));

/**
 * Writes a float32's magnitude as writeFloat32 does, sooner: one from {@link COMMON_FROM_BITS} on and below
 * {@link COMMON_BELOW_BITS}. It comes as its bits, since V8 allocates memory for each fraction that a function is
 * called with. Nine digits are an exact product, of 24 bits and the 28 of 5^12; six digits with such a point are never
 * in the middle of two floats.
 */
function writeCommon32(text: DataView, start: number, bits: number): number {
  const power = bits >>> MANTISSA_BITS;
  const isNext = bits >= NEXT_BITS[power]! ? 1 : 0;
  const exponent = EXPONENTS[power]! + isNext;
  const place = 2 * power + isNext;
  BITS[0] = bits;
  const exact = FLOAT[0]! * SCALES[place]!;
  let digits = (exact + ROUNDER - ROUNDER) | 0;
  if (exponent > 2) return writeFarPoint(text, start, digits, exponent);
  const short = (((digits + 500) / 1000) | 0) * 1000;
  if (Math.abs(exact - short) < HALF_BITS[place]!) digits = short;
  const high = (digits / 1_000_000) | 0;
  const rest = digits - high * 1_000_000;
  const middle = (rest / 1000) | 0;
  const first = GROUPS[high]!;
  const second = GROUPS[middle]!;
  const third = GROUPS[rest - middle * 1000]!;
  let at = start + 1 - exponent;
  if (exponent < 0) {
    text.setUint32(start, ZERO_POINT, true);
    text.setUint8(start + 4, ZERO);
    text.setUint32(at, first, true);
  } else {
    const bitsBefore = 8 * exponent;
    const before = THREE_BYTES >>> (16 - bitsBefore);
    const after = first & THREE_BYTES & ~before;
    text.setUint32(start, (first & before) | (POINT_BEHIND_FIRST << bitsBefore) | (after << 8), true);
    at = start + 1;
  }
  text.setUint32(at + 3, second, true);
  text.setUint32(at + 6, third, true);
  const end = at + DIGITS - endZeros(first, second, third);
  if (exponent < 0 || end > start + exponent + 2) return end;
  text.setUint8(start + exponent + 2, ZERO);
  return start + exponent + 3;
}

/**
 * Writes {@link FLOAT}, of which these are nine digits: the point stands behind the
 * first three, or there is an exponent.
 */
function writeFarPoint(text: DataView, start: number, digits: number, exponent: number): number {
  const short = ((digits + 500) / 1000) | 0;
  const scale = SHORT_DIGITS - 1 - exponent;
  const value = scale >= 0 ? short / POWERS[scale]! : short * POWERS[-scale]!;
  if (Math.fround(value) === FLOAT[0]) return writeShort(text, start, short, exponent);
  const kept = DIGITS - writeNine(text, openDigits(text, start, exponent), digits);
  return layoutPlain(text, start, exponent, kept);
}

/** The zeros at the end of three groups. */
function endZeros(first: number, second: number, third: number): number {
  if (third >>> 24 < 3) return third >>> 24;
  return second >>> 24 < 3 ? 3 + (second >>> 24) : 6 + (first >>> 24);
}

function exponentAt(place: number): number {
  return EXPONENTS[place >>> 1]! + (place & 1);
}

function bitsOf(value: number): number {
  FLOAT[0] = value;
  return BITS[0]!;
}
