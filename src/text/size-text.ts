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
