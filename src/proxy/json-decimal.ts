/** Powers of ten that a double holds exactly. */
const POWERS = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
/** Powers beyond are left to the slow way. */
const MAX_POWER = 22;
/** Splits a double into two halves whose products are exact (Veltkamp). */
const SPLITTER = 2 ** 27 + 1;
/** Far above the rounding errors of a correction, far below what decides a rounding in practice. */
const SLACK = 2 ** -48;

/** Digits in the head of a decimal, the first ones: so many fit 32-bit arithmetic. */
export const HEAD_DIGITS = 9;
/** Digits in head and tail together. */
export const MAX_DIGITS = 18;

/**
 * The double nearest to `(head · 10^tailDigits + tail) · 10^exponent`, or undefined where this arithmetic cannot decide:
 * then the text must be parsed the slow way. The head has up to nine digits (exactly nine where there is a tail), the tail
 * up to nine. Where the digits fit a double and the power is exact, one operation rounds once; beyond that the
 * operation's own rounding error is computed exactly (Dekker) and added back. Four numbers, not an object: it runs once
 * for every number of a request.
 */
export function decimalToDouble(head: number, tail: number, tailDigits: number, exponent: number): number | undefined {
  if (exponent < -MAX_POWER || exponent > MAX_POWER) return head === 0 ? 0 : undefined;
  const power = POWERS[Math.abs(exponent)] as number;
  if (tailDigits <= 6) {
    const digits = head * (POWERS[tailDigits] as number) + tail;
    return exponent < 0 ? digits / power : digits * power;
  }
  const shift = POWERS[tailDigits] as number;
  const high = (head >>> 15) * 2 ** 15 * shift;
  const low = (head & 0x7fff) * shift + tail;
  const sum = high + low;
  const rest = low - (sum - high);
  if (exponent === 0) return sum;
  return exponent < 0 ? divide(sum, rest, power) : multiply(sum, rest, power);
}

/** (sum + rest) / power, rounded once. */
function divide(sum: number, rest: number, power: number): number | undefined {
  const quotient = sum / power;
  const product = quotient * power;
  const remainder = sum - product - productError(quotient, power, product);
  const correction = (remainder + rest) / power;
  return rounded(quotient, correction, Math.abs(correction) * SLACK);
}

/** (sum + rest) · power, rounded once. */
function multiply(sum: number, rest: number, power: number): number | undefined {
  const product = sum * power;
  const error = productError(sum, power, product);
  const restProduct = rest * power;
  return rounded(product, error + restProduct, (Math.abs(error) + Math.abs(restProduct)) * SLACK);
}

/** What rounding took from a·b to make `product`; exact. */
function productError(a: number, b: number, product: number): number {
  const aHigh = SPLITTER * a - (SPLITTER * a - a);
  const aLow = a - aHigh;
  const bHigh = SPLITTER * b - (SPLITTER * b - b);
  const bLow = b - bHigh;
  return aHigh * bHigh - product + aHigh * bLow + aLow * bHigh + aLow * bLow;
}

/** `value + correction`, unless it lies so near to the middle between two doubles that `slack` decides. */
function rounded(value: number, correction: number, slack: number): number | undefined {
  const low = value + (correction - slack);
  return low === value + (correction + slack) ? low : undefined;
}
