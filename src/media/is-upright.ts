/** Beginning of an APP1 segment that is EXIF; others are XMP. */
const EXIF = Buffer.from("Exif\0\0", "latin1");
/** Tag of the orientation in the first directory (EXIF 2.3 §4.6.4). */
const ORIENTATION = 0x0112;
const UPRIGHT = 1;
const SHORT = 3;
/** Byte order, 42, and the place of the first directory. */
const HEADER_BYTES = 8;
const ENTRY_BYTES = 12;
/** Place of the value within a directory's entry. */
const VALUE_AT = 8;

/** Checks that an APP1 segment's content does not turn its image; false too where it cannot be read. */
export function isUpright(content: Uint8Array): boolean {
  if (!EXIF.equals(content.subarray(0, EXIF.length))) return true;
  const tiff = new DataView(content.buffer, content.byteOffset + EXIF.length, content.byteLength - EXIF.length);
  if (tiff.byteLength < HEADER_BYTES) return false;
  const order = tiff.getUint16(0);
  if (order !== 0x4949 && order !== 0x4d4d) return false;
  const isLittle = order === 0x4949;
  const directory = tiff.getUint32(4, isLittle);
  if (directory + 2 > tiff.byteLength) return false;
  const first = directory + 2;
  const end = first + ENTRY_BYTES * tiff.getUint16(directory, isLittle);
  if (end > tiff.byteLength) return false;
  for (let at = first; at < end; at += ENTRY_BYTES) {
    if (tiff.getUint16(at, isLittle) !== ORIENTATION) continue;
    const isShort = tiff.getUint16(at + 2, isLittle) === SHORT;
    if (!isShort || tiff.getUint16(at + VALUE_AT, isLittle) !== UPRIGHT) return false;
  }
  return true;
}
