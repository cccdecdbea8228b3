import { withoutZeros } from "./digit-groups.ts";

const ZERO = 0x30;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const LETTER_E = 0x65;
/** Below this exponent `%g` writes one. */
const MIN_FIXED_EXPONENT = -4;

/** Rounding of a parsed number to each type, and the number of digits that always identify a value of it. */
const FLOAT_TYPES = {
  float32: { round: Math.fround, digits: 9 },
  float64: { round: (value: number) => value, digits: 17 },
} as const;

/** The place of a number's digits for {@link layoutDigits}, which stands before them what belongs there. `exponent` is the first digit's. */
export function digitsPlace(start: number, exponent: number): number {
  return exponent < 0 && exponent >= MIN_FIXED_EXPONENT ? start + 1 - exponent : start + 1;
}

/**
 * Lays `count` digits, which lie at their place, out from `start` on as C's `%g` does, with `.0` behind a whole number; returns where the
 * text ends.
 */
export function layoutDigits(buffer: Uint8Array, start: number, exponent: number, count: number): number {
  if (exponent < MIN_FIXED_EXPONENT || exponent >= count) return scientific(buffer, start, exponent, count);
  return exponent < 0 ? fraction(buffer, start, exponent, count) : fixed(buffer, start, exponent, count);
}

/** The digits lie behind the point and its zeros already. */
function fraction(buffer: Uint8Array, start: number, exponent: number, count: number): number {
  const place = digitsPlace(start, exponent);
  buffer[start] = ZERO;
  buffer[start + 1] = POINT;
  for (let at = start + 2; at < place; at++) buffer[at] = ZERO;
  return withoutZeros(buffer, place, place + count);
}

/** The digits before the point move to the left of it. */
function fixed(buffer: Uint8Array, start: number, exponent: number, count: number): number {
  const point = start + exponent + 1;
  for (let at = start; at < point; at++) buffer[at] = buffer[at + 1]!;
  buffer[point] = POINT;
  if (exponent < count - 1) return withoutZeros(buffer, point + 1, start + 1 + count);
  buffer[point + 1] = ZERO;
  return point + 2;
}

function scientific(buffer: Uint8Array, start: number, exponent: number, count: number): number {
  let at = withoutZeros(buffer, start + 1, start + 1 + count);
  buffer[start] = buffer[start + 1]!;
  if (at === start + 2) at--;
  else buffer[start + 1] = POINT;
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
