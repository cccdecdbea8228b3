const BAR_COLUMNS = 30;

const UNITS = ["bytes", "KB", "MB", "GB", "TB"] as const;

/** A number of bytes for people: `1.5 GB`, in steps of 1024 as settings take them. */
export function sizeText(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < UNITS.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${Number(size.toFixed(size < 10 ? 1 : 0))} ${UNITS[unit]}`;
}

/** `12.3 MB`, in powers of ten, as usual for downloads. */
export function megabytes(bytes: number): string {
  const value = bytes / 1e6;
  return `${value >= 100 ? Math.round(value) : value.toFixed(1)} MB`;
}

/**
 * The progress of a download for a terminal: `████░░░░  50 %  1.0 MB of 2.0 MB`; the
 * bytes alone if the total is not known.
 */
export function progressBar(doneBytes: number, totalBytes: number | undefined): string {
  if (totalBytes === undefined || totalBytes === 0) return `  ${megabytes(doneBytes)}`;
  const share = Math.min(1, doneBytes / totalBytes);
  const filled = Math.round(share * BAR_COLUMNS);
  const bar = "█".repeat(filled) + "░".repeat(BAR_COLUMNS - filled);
  return `  ${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${megabytes(doneBytes)} of ${megabytes(totalBytes)}`;
}

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
