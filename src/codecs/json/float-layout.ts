import type { JsonWriter } from "./json-writer.ts";

const ZERO = 0x30;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const LETTER_E = 0x65;
/** More than any number's text: sign, 17 digits, point, leading zeros, exponent. */
const MAX_BYTES = 48;
/** Below this exponent `%g` writes one. */
const MIN_FIXED_EXPONENT = -4;

/** Rounding of a parsed number to each type, and the number of digits that always identify a value of it. */
const FLOAT_TYPES = {
  float32: { round: Math.fround, digits: 9 },
  float64: { round: (value: number) => value, digits: 17 },
} as const;

/** The digits of the number that is being written, first one first. */
const scratch = new Uint8Array(17);

/** Sets `count` digits from an unsigned integer below 2^31, for the next {@link layoutDigits}. */
export function setDigits(value: number, start: number, count: number): void {
  let rest = value | 0;
  for (let at = start + count - 1; at >= start; at--) {
    const tenth = (rest / 10) | 0;
    scratch[at] = rest - tenth * 10;
    rest = tenth;
  }
}

/** Writes `precision` digits as C's `%g` lays them out, with `.0` behind a whole number. `exponent` is the first digit's. */
export function layoutDigits(writer: JsonWriter, negative: boolean, exponent: number, precision: number): void {
  let count = precision;
  while (count > 1 && scratch[count - 1] === 0) count--;
  const buffer = writer.reserve(MAX_BYTES);
  let at = writer.length;
  if (negative) buffer[at++] = MINUS;
  const isFixed = exponent >= MIN_FIXED_EXPONENT && exponent < precision;
  at = isFixed ? fixed(buffer, at, exponent, count) : scientific(buffer, at, exponent, count);
  writer.advance(at);
}

function fixed(buffer: Uint8Array, start: number, exponent: number, count: number): number {
  let at = start;
  for (let place = 0; place <= exponent; place++) buffer[at++] = ZERO + (place < count ? scratch[place]! : 0);
  if (exponent < 0) buffer[at++] = ZERO;
  buffer[at++] = POINT;
  for (let place = exponent + 1; place < 0; place++) buffer[at++] = ZERO;
  for (let place = Math.max(exponent + 1, 0); place < count; place++) buffer[at++] = ZERO + scratch[place]!;
  if (exponent >= count - 1) buffer[at++] = ZERO;
  return at;
}

function scientific(buffer: Uint8Array, start: number, exponent: number, count: number): number {
  let at = start;
  buffer[at++] = ZERO + scratch[0]!;
  if (count > 1) buffer[at++] = POINT;
  for (let place = 1; place < count; place++) buffer[at++] = ZERO + scratch[place]!;
  buffer[at++] = LETTER_E;
  buffer[at++] = exponent < 0 ? MINUS : PLUS;
  const magnitude = Math.abs(exponent);
  buffer[at++] = ZERO + ((magnitude / 10) | 0);
  buffer[at++] = ZERO + (magnitude % 10);
  return at;
}

/** The text of any number by the same rules, without haste: NaN, infinities, zero, very small and very large numbers. */
export function slowFloatText(value: number, type: keyof typeof FLOAT_TYPES): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value < 0 ? "-Infinity" : "Infinity";
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const { round, digits } = FLOAT_TYPES[type];
  const short = significantText(value, 6);
  const text = round(Number(short)) === value ? short : significantText(value, digits);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/** C's `%.{digits}g`. */
function significantText(value: number, digits: number): string {
  const [mantissa, exponentText] = exponential(value, digits).split("e") as [string, string];
  const exponent = Number(exponentText);
  const trimmed = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  if (exponent >= MIN_FIXED_EXPONENT && exponent < digits) return fixedText(trimmed, exponent);
  return `${trimmed}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** toExponential with this many digits, but a tie goes to the even digit, as in C, where JavaScript rounds up. */
function exponential(value: number, digits: number): string {
  const rounded = value.toExponential(digits - 1);
  const [longer, exponent] = value.toExponential(digits).split("e") as [string, string];
  const kept = longer.slice(0, -1);
  const mayTie = longer.endsWith("5") && Number(kept.at(-1)) % 2 === 0;
  return mayTie && isExact(value, digits) ? `${kept}e${exponent}` : rounded;
}

/** Checks that one digit more than `digits` is the whole value. */
function isExact(value: number, digits: number): boolean {
  const [mantissa] = value.toExponential(100).split("e") as [string];
  return /^0*$/.test(mantissa.slice(mantissa.indexOf(".") + 1 + digits));
}

/** The digits `d.ddd` of the given exponent, written without one. */
function fixedText(mantissa: string, exponent: number): string {
  const sign = mantissa.startsWith("-") ? "-" : "";
  const digits = mantissa.replace(/[-.]/g, "");
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  const fraction = digits.slice(exponent + 1);
  return sign + whole + (fraction === "" ? "" : `.${fraction}`);
}
