import { GROUPS, writeNine } from "./digit-groups.ts";
import { POWERS } from "./exact-product.ts";
import { layoutPlain, openDigits } from "./float-layout.ts";
import { SHORT_DIGITS, SHORT_LIMIT, writeShort } from "./short-float.ts";

/** Magnitudes that {@link writeCommon32} takes: nine digits of them are exact products, of 24 bits and the 28 of 5^12. */
export const COMMON_FROM = 1e-4;
export const COMMON_BELOW = 1e9;

const DIGITS = 9;
/** A number that is brought back by six digits is nearer to them than this, in units of the ninth: half of its last bit. */
const SHORT_MARGIN = 62;
/** Added and subtracted, it rounds a double to the nearest integer, the even one of two. */
const ROUNDER = 2 ** 52 + 2 ** 51;
const ZERO = 0x30;
/** `0.00` as four bytes, the first lowest. */
const ZERO_POINT = 0x30302e30;
const THREE_BYTES = 0xffffff;
const POINT_BEHIND_FIRST = 0x2e00;

/** The bits of a float. */
const FLOAT = new Float32Array(1);
const BITS = new Uint32Array(FLOAT.buffer);
/** Of the numbers with the same power of two: the power of ten of the smallest, and where the next one begins. */
const EXPONENTS = Int8Array.from({ length: 256 }, (_, power) => Math.floor((power - 127) * Math.log10(2)));
const NEXT_POWERS = Float64Array.from(EXPONENTS, (exponent) => Number(`1e${exponent + 1}`));

/**
 * Writes a float32's magnitude from {@link COMMON_FROM} on and below {@link COMMON_BELOW} as writeFloat32 does, sooner. It is one function,
 * since V8 does not inline as much as its parts.
 */
export function writeCommon32(text: DataView, start: number, magnitude: number): number {
  FLOAT[0] = magnitude;
  const power = BITS[0]! >>> 23;
  let exponent = EXPONENTS[power]!;
  if (magnitude >= NEXT_POWERS[power]!) exponent++;
  let digits = (magnitude * POWERS[DIGITS - 1 - exponent]! + ROUNDER - ROUNDER) | 0;
  const six = ((digits + 500) / 1000) | 0;
  const distance = digits - six * 1000;
  if (distance <= SHORT_MARGIN && distance >= -SHORT_MARGIN && isShort(six, exponent, magnitude)) {
    if (six === SHORT_LIMIT || exponent >= SHORT_DIGITS) return writeShort(text, start, six, exponent);
    digits = six * 1000;
  }
  if (exponent > 2) return writeFarPoint(text, start, digits, exponent);
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
    const bits = 8 * exponent;
    const before = THREE_BYTES >>> (16 - bits);
    const after = first & THREE_BYTES & ~before;
    text.setUint32(start, (first & before) | (POINT_BEHIND_FIRST << bits) | (after << 8), true);
    at = start + 1;
  }
  text.setUint32(at + 3, second, true);
  text.setUint32(at + 6, third, true);
  const end = at + DIGITS - endZeros(first, second, third);
  if (exponent < 0 || end > start + exponent + 2) return end;
  text.setUint8(start + exponent + 2, ZERO);
  return start + exponent + 3;
}

/** Checks if six digits bring a number back. */
function isShort(six: number, exponent: number, magnitude: number): boolean {
  const scale = SHORT_DIGITS - 1 - exponent;
  return Math.fround(scale >= 0 ? six / POWERS[scale]! : six * POWERS[-scale]!) === magnitude;
}

/** The zeros at the end of three groups. */
function endZeros(first: number, second: number, third: number): number {
  if (third >>> 24 < 3) return third >>> 24;
  return second >>> 24 < 3 ? 3 + (second >>> 24) : 6 + (first >>> 24);
}

function writeFarPoint(text: DataView, start: number, digits: number, exponent: number): number {
  const kept = DIGITS - writeNine(text, openDigits(text, start, exponent), digits);
  return layoutPlain(text, start, exponent, kept);
}
