const MAX_VERSION = 2n ** 63n - 1n;

/** The version in a folder's name: digits only, leading zeros allowed, up to 2^63-1; undefined for any other name. */
export function parseVersion(name: string): bigint | undefined {
  if (!/^\d+$/.test(name)) return undefined;
  // The time that BigInt takes grows with the square of the length.
  const digits = name.replace(/^0+(?=\d)/, "");
  const version = digits.length > 19 ? MAX_VERSION + 1n : BigInt(digits);
  return version <= MAX_VERSION ? version : undefined;
}
