import { writeSix } from "./digit-groups.ts";
import { isPlain, layoutPlain, layoutScientific, openDigits } from "./float-layout.ts";

/** Number of digits of the first attempt: that of C's `%g`. */
export const SHORT_DIGITS = 6;
/** The first number with more digits. */
const SHORT_LIMIT = 10 ** SHORT_DIGITS;

/**
 * Writes six digits, of which the first stands for 10^exponent, or 10^6 where they
 * were rounded up to it; returns where the text ends.
 */
export function writeShort(text: DataView, start: number, digits: number, exponent: number): number {
  if (digits === SHORT_LIMIT) return writeShort(text, start, SHORT_LIMIT / 10, exponent + 1);
  const kept = SHORT_DIGITS - writeSix(text, openDigits(text, start, exponent), digits);
  return isPlain(exponent, SHORT_DIGITS)
    ? layoutPlain(text, start, exponent, kept)
    : layoutScientific(text, start, exponent, kept);
}
