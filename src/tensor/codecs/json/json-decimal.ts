/** The powers of ten that a double holds exactly: 10^0 up to 10^22. */
export const POWERS = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
/** Far above the rounding errors of a correction, far below what decides a rounding in practice. */
const SLACK = 2 ** -48;
/** Splits a double into two halves whose products are exact (Veltkamp). */
const SPLITTER = 2 ** 27 + 1;

/** Number of digits in the head of a decimal, so that they fit 32-bit arithmetic. The tail has as many. */
export const HEAD_DIGITS = 9;
/** Maximum number of digits after the decimal point for {@link decimalToDouble}: their power of ten is exact. */
export const MAX_FRACTION = POWERS.length - 1;

/**
 * The double nearest to `(head · 10^tailDigits + tail) / 10^fraction`, or NaN if this arithmetic cannot decide:
 * then the text must be parsed the slow way. The head has up to nine digits, exactly nine if there is a tail.
 * Up to 15 digits, digits and power are exact and one division rounds once; beyond that the division's own rounding
 * error is computed exactly (Dekker) and added back. Four numbers, not an object: it
 * runs for every number of a request.
 */
export function decimalToDouble(head: number, tail: number, tailDigits: number, fraction: number): number {
  const power = POWERS[fraction]!;
  const shift = POWERS[tailDigits]!;
  if (tailDigits <= 6) return (head * shift + tail) / power;
  const high = (head >>> 15) * 2 ** 15 * shift;
  const low = (head & 0x7fff) * shift + tail;
  const digits = high + low;
  const digitsError = low - (digits - high);
  const quotient = digits / power;
  const product = quotient * power;
  const remainder = digits - product - productError(quotient, power, product);
  return rounded(quotient, (remainder + digitsError) / power);
}

/**
 * `value + correction`, or NaN if it is so near to the middle between two doubles
 * that the correction's error decides.
 */
function rounded(value: number, correction: number): number {
  const slack = Math.abs(correction) * SLACK;
  const low = value + (correction - slack);
  return low === value + (correction + slack) ? low : Number.NaN;
}

/**
 * The part of a·b that rounding to `product` lost: exactly `a·b - product`, far from overflow and underflow (Dekker).
 */
export function productError(a: number, b: number, product: number): number {
  const aHigh = SPLITTER * a - (SPLITTER * a - a);
  const bHigh = SPLITTER * b - (SPLITTER * b - b);
  const aLow = a - aHigh;
  const bLow = b - bHigh;
  return aHigh * bHigh - product + aHigh * bLow + aLow * bHigh + aLow * bLow;
}

/** The integer nearest to a value, the even one of two equally near. */
export function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
}
