/** A number with so many digits behind the point as C's printf("%f") writes it: all of them, a tie to the even one. */
export function toFixedPoint(value: number, digits: number): string {
  if (Number.isNaN(value)) return "nan";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  return sign + (Number.isFinite(value) ? toDigits(Math.abs(value), digits) : "inf");
}

function toDigits(magnitude: number, digits: number): string {
  // From here on toFixed() writes an exponent; such a number has no fraction.
  if (magnitude >= 1e21) return `${BigInt(magnitude)}${digits === 0 ? "" : `.${"0".repeat(digits)}`}`;
  return (isTie(magnitude, digits) ? toEven(magnitude, digits) : magnitude).toFixed(digits);
}

/** Checks that a number lies halfway between two of so many digits; of a tie, both products are exact. */
function isTie(magnitude: number, digits: number): boolean {
  const scaled = magnitude * 10 ** digits;
  return scaled % 1 === 0.5 && scaled < 2 ** 50 && Number.isInteger(magnitude * 2 ** (digits + 1));
}

function toEven(tie: number, digits: number): number {
  const below = Math.floor(tie * 10 ** digits);
  return (below + (below % 2)) / 10 ** digits;
}
