const UPRIGHT = 1;
const SHORT = 3;
const ENTRY_BYTES = 12;

/** Facts in a JPEG's frame header. */
interface JpegHeader {
  readonly width: number;
  readonly height: number;
  /** 1 = grey, 3 = colours. */
  readonly channels: 1 | 3;
  readonly isProgressive: boolean;
  /** False if EXIF before the frame says that the image is to be turned, or cannot be read. */
  readonly isUpright: boolean;
}

const MARKER = 0xff;
/** Baseline, extended and progressive frames; other kinds are supported only by the programs that write them. */
const FRAMES: readonly number[] = [0xc0, 0xc1, 0xc2];
const PROGRESSIVE = 0xc2;
/** Segment of EXIF, and of XMP. */
const APP1 = 0xe1;
/** Start of the scan, after which there are no headers. */
const SCAN = 0xda;
/** Bytes of a marker and of the length behind it. */
const HEAD_BYTES = 4;
const FRAME_BYTES = 10;
/** Segments before the frame that are looked at. Files have dozens; 64 MB of empty ones would take seconds. */
const MAX_SEGMENTS = 4096;

/**
 * Finds the frame header of a JPEG of 8 bits, which takes a hundredth of the time that a decoder needs to open it;
 * undefined for anything unusual.
 */
export function readJpegHeader(bytes: Uint8Array): JpegHeader | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let upright = true;
  for (let at = 2, left = MAX_SEGMENTS; left > 0 && at + FRAME_BYTES <= bytes.length; left--) {
    if (bytes[at] !== MARKER) return undefined;
    const marker = bytes[at + 1]!;
    if (FRAMES.includes(marker)) {
      const frame = readFrame(view, at + HEAD_BYTES);
      return frame && { ...frame, isProgressive: marker === PROGRESSIVE, isUpright: upright };
    }
    // Restart markers and fill bytes have no length; before the frame they are unusual.
    if (marker < 0xc0 || marker === SCAN || marker === MARKER || (marker >= 0xd0 && marker <= 0xd9)) return undefined;
    const next = at + 2 + view.getUint16(at + 2);
    if (marker === APP1) upright &&= isUpright(bytes.subarray(at + HEAD_BYTES, next));
    at = next;
  }
  return undefined;
}

function readFrame(view: DataView, at: number): Pick<JpegHeader, "width" | "height" | "channels"> | undefined {
  const [depth, height, width, channels] = [
    view.getUint8(at),
    view.getUint16(at + 1),
    view.getUint16(at + 3),
    view.getUint8(at + 5),
  ];
  const isPlain = depth === 8 && height > 0 && width > 0 && (channels === 1 || channels === 3);
  return isPlain ? { width, height, channels } : undefined;
}

/** Beginning of an APP1 segment that is EXIF; others are XMP. */
const EXIF = Buffer.from("Exif\0\0", "latin1");
/** Tag of the orientation in the first directory (EXIF 2.3 §4.6.4). */
const ORIENTATION = 0x0112;
/** Byte order, 42, and the place of the first directory. */
const HEADER_BYTES = 8;
/** Place of the value within a directory's entry. */
const VALUE_AT = 8;

/** Checks that an APP1 segment's content does not turn its image; false too if it cannot be read. */
function isUpright(content: Uint8Array): boolean {
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
