const ZERO = 0x30;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const LETTER_E = 0x65;
/** `0.00` as four bytes, the first lowest. */
const ZERO_POINT = 0x30302e30;
/** Below this exponent `%g` writes one. */
const MIN_FIXED_EXPONENT = -4;

/** Rounding of a parsed number to each type, and the number of digits that always identify a value of it. */
const FLOAT_TYPES = {
  float32: { round: Math.fround, digits: 9 },
  float64: { round: (value: number) => value, digits: 17 },
} as const;

/** Checks if `%g` with so many digits writes a number whose first digit stands for 10^exponent without an exponent. */
export function isPlain(exponent: number, count: number): boolean {
  return exponent >= MIN_FIXED_EXPONENT && exponent < count;
}

/**
 * Begins a number whose first digit stands for 10^exponent, with the zeros of a fraction. Returns the place for its
 * digits; {@link layoutPlain} or {@link layoutScientific} then stands among them what belongs there.
 */
export function openDigits(text: DataView, start: number, exponent: number): number {
  if (exponent >= 0 || exponent < MIN_FIXED_EXPONENT) return start + 1;
  text.setUint32(start, ZERO_POINT, true);
  text.setUint8(start + 4, ZERO);
  return start + 1 - exponent;
}

/**
 * Lays out digits, the first `kept` without the zeros at their end, with `.0` behind a
 * whole number; returns where the text ends.
 */
export function layoutPlain(text: DataView, start: number, exponent: number, kept: number): number {
  if (exponent < 0) return start + 1 - exponent + kept;
  const point = start + exponent + 1;
  for (let at = start; at < point; at++) text.setUint8(at, text.getUint8(at + 1));
  text.setUint8(point, POINT);
  if (kept > exponent + 1) return start + 1 + kept;
  text.setUint8(point + 1, ZERO);
  return point + 2;
}

/** Lays out digits likewise with an exponent, of two digits at least. */
export function layoutScientific(text: DataView, start: number, exponent: number, kept: number): number {
  text.setUint8(start, text.getUint8(start + 1));
  let at = start + 1;
  if (kept > 1) {
    text.setUint8(at, POINT);
    at += kept;
  }
  text.setUint8(at, LETTER_E);
  text.setUint8(at + 1, exponent < 0 ? MINUS : PLUS);
  const magnitude = Math.abs(exponent);
  text.setUint8(at + 2, ZERO + ((magnitude / 10) | 0));
  text.setUint8(at + 3, ZERO + (magnitude % 10));
  return at + 4;
}

/**
 * The text of any number by the same rules, without haste: NaN, infinities, zero, very small and very large numbers.
 */
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

/** Number of digits of the first attempt: that of C's `%g`. */
export const SHORT_DIGITS = 6;
/** The first number with more digits. */
const SHORT_LIMIT = 10 ** SHORT_DIGITS;

/**
 * Writes six digits, of which the first stands for 10^exponent, or 10^6 if they
 * were rounded up to it; returns where the text ends.
 */
export function writeShort(text: DataView, start: number, digits: number, exponent: number): number {
  if (digits === SHORT_LIMIT) return writeShort(text, start, SHORT_LIMIT / 10, exponent + 1);
  const kept = SHORT_DIGITS - writeSix(text, openDigits(text, start, exponent), digits);
  return isPlain(exponent, SHORT_DIGITS)
    ? layoutPlain(text, start, exponent, kept)
    : layoutScientific(text, start, exponent, kept);
}

/**
 * ASCII digits of 000 to 999, the first in the lowest byte, so that three are written at once; the highest byte is the
 * number of zeros at their end.
 */
export const GROUPS = Uint32Array.from({ length: 1000 }, (_, value) => {
  const text = String(value).padStart(3, "0");
  const zeros = 3 - text.replace(/0+$/, "").length;
  return (zeros << 24) | (text.charCodeAt(2) << 16) | (text.charCodeAt(1) << 8) | text.charCodeAt(0);
});

/** Writes an integer below 10^6 as six digits, and over one byte more. Returns the number of zeros at their end. */
function writeSix(text: DataView, at: number, value: number): number {
  const high = (value / 1000) | 0;
  const first = GROUPS[high]!;
  const second = GROUPS[value - high * 1000]!;
  text.setUint32(at, first, true);
  text.setUint32(at + 3, second, true);
  return second >>> 24 < 3 ? second >>> 24 : 3 + (first >>> 24);
}

/** Writes an integer below 10^9 as nine digits, and over one byte more. Returns the number of zeros at their end. */
export function writeNine(text: DataView, at: number, value: number): number {
  const high = (value / 1_000_000) | 0;
  const first = GROUPS[high]!;
  text.setUint32(at, first, true);
  const zeros = writeSix(text, at + 3, value - high * 1_000_000);
  return zeros < 6 ? zeros : 6 + (first >>> 24);
}
