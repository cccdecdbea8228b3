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
export function writeSix(text: DataView, at: number, value: number): number {
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
