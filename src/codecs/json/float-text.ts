import { POWERS, productError, roundHalfEven } from "./exact-product.ts";
import { layoutDigits, setDigits, slowFloatText } from "./float-layout.ts";
import type { JsonWriter } from "./json-writer.ts";

/** Number of digits of the first attempt: that of C's `%g`. */
const SHORT_DIGITS = 6;
/** Number of digits that always preserve a float32, and a float64. */
const FLOAT32_DIGITS = 9;
const FLOAT64_DIGITS = 17;
/** 10^-n as the nearest double. */
const INVERSE_POWERS = POWERS.map((_, exponent) => Number(`1e-${exponent}`));
/** A float32 times a power up to this one is exact: 24 bits and the 28 of its odd part. */
const MAX_EXACT_POWER = 12;
/** Scaling errs by less than this below 10^9; nearer to a tie the slow way decides. */
const TIE_MARGIN = 1e-6;
/** 17 digits are handled as eight and nine. */
const LOW_DIGITS = 9;

/**
 * Writes a float32 as TensorFlow Serving does: six significant digits (C's `%g`) if they bring the value back, else nine;
 * `.0` behind whole numbers; `NaN`, `Infinity` and `-Infinity` bare, which is not strict JSON.
 */
export function writeFloat32(writer: JsonWriter, value: number): void {
  const magnitude = Math.abs(value);
  // Nine digits need the power 8 - exponent.
  const exponent = magnitude >= 1e-13 && magnitude < 1e22 ? decimalExponent(magnitude) : Number.NaN;
  if (Number.isNaN(exponent)) writer.ascii(slowFloatText(value, "float32"));
  else if (!writeShort(writer, value, exponent, Math.fround)) writeNine(writer, value, exponent);
}

/** Writes a float64 likewise: six significant digits, else seventeen. */
export function writeFloat64(writer: JsonWriter, value: number): void {
  const magnitude = Math.abs(value);
  // Seventeen digits need the power 16 - exponent.
  const exponent = magnitude >= 1e-5 && magnitude < 1e15 ? decimalExponent(magnitude) : Number.NaN;
  if (Number.isNaN(exponent)) writer.ascii(slowFloatText(value, "float64"));
  else if (!writeShort(writer, value, exponent, Number)) writeSeventeen(writer, value, exponent);
}

/** The power of ten of the first digit, for magnitudes between 10^-22 and 10^22. */
function decimalExponent(magnitude: number): number {
  let exponent = 0;
  while (magnitude >= POWERS[exponent + 1]!) exponent++;
  if (exponent > 0 || magnitude >= 1) return exponent;
  do exponent++;
  while (magnitude < INVERSE_POWERS[exponent]!);
  return -exponent;
}

/** value · 10^scale, rounded once. */
function scaled(value: number, scale: number): number {
  return scale >= 0 ? value * POWERS[scale]! : value / POWERS[-scale]!;
}

function writeShort(writer: JsonWriter, value: number, exponent: number, round: (parsed: number) => number): boolean {
  const magnitude = Math.abs(value);
  const scale = SHORT_DIGITS - 1 - exponent;
  const digits = Math.round(scaled(magnitude, scale));
  if (round(scaled(digits, -scale)) !== magnitude) return false;
  const isCarried = digits === POWERS[SHORT_DIGITS];
  setDigits(isCarried ? digits / 10 : digits, 0, SHORT_DIGITS);
  layoutDigits(writer, value < 0, isCarried ? exponent + 1 : exponent, SHORT_DIGITS);
  return true;
}

function writeNine(writer: JsonWriter, value: number, exponent: number): void {
  const scale = FLOAT32_DIGITS - 1 - exponent;
  const exact = scaled(Math.abs(value), scale);
  const rest = exact - Math.floor(exact);
  if (Math.abs(rest - 0.5) < TIE_MARGIN && !(scale >= 0 && scale <= MAX_EXACT_POWER)) {
    writer.ascii(slowFloatText(value, "float32"));
    return;
  }
  setDigits(roundHalfEven(exact), 0, FLOAT32_DIGITS);
  layoutDigits(writer, value < 0, exponent, FLOAT32_DIGITS);
}

/** Scales exactly: the product as a double and the error of that double. */
function writeSeventeen(writer: JsonWriter, value: number, exponent: number): void {
  const magnitude = Math.abs(value);
  const power = POWERS[FLOAT64_DIGITS - 1 - exponent]!;
  const product = magnitude * power;
  const error = roundHalfEven(productError(magnitude, power, product));
  let high = Math.floor(product / 10 ** LOW_DIGITS);
  let low = product - high * 10 ** LOW_DIGITS + error;
  if (low < 0 || low >= 10 ** LOW_DIGITS) {
    const carry = Math.floor(low / 10 ** LOW_DIGITS);
    high += carry;
    low -= carry * 10 ** LOW_DIGITS;
  }
  setDigits(high, 0, FLOAT64_DIGITS - LOW_DIGITS);
  setDigits(low, FLOAT64_DIGITS - LOW_DIGITS, LOW_DIGITS);
  layoutDigits(writer, value < 0, exponent, FLOAT64_DIGITS);
}
