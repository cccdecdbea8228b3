import { GROUPS, writeNine } from "./digit-groups.ts";
import { POWERS } from "./exact-product.ts";
import { layoutPlain, openDigits } from "./float-layout.ts";
import { SHORT_DIGITS, writeShort } from "./short-float.ts";

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

/** One float, and its bits. */
const FLOAT = new Float32Array(1);
const BITS = new Int32Array(FLOAT.buffer);

/** Bits of the magnitudes that {@link writeCommon32} takes: from 10^-4 on, */
export const COMMON_FROM_BITS = bitsOf(1e-4);
/** and below 10^9. */
export const COMMON_BELOW_BITS = bitsOf(1e9);

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
export function writeCommon32(text: DataView, start: number, bits: number): number {
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
