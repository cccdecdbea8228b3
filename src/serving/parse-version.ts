/** The greatest version: that of TensorFlow Serving's messages. */
export const MAX_VERSION = 2n ** 63n - 1n;

/** The version that a text means: digits only, leading zeros allowed, up to 2^63-1; undefined for any other text. */
export function parseVersion(text: string): bigint | undefined {
  if (!/^\d+$/.test(text)) return undefined;
  // The time that BigInt takes grows with the square of the length.
  const digits = text.replace(/^0+(?=\d)/, "");
  const version = digits.length > 19 ? MAX_VERSION + 1n : BigInt(digits);
  return version <= MAX_VERSION ? version : undefined;
}
