import { FORMAT_NAMES, type ImageFormat } from "./image-format.ts";
import { readJpegHeader } from "./jpeg-header.ts";

/** Deflate gives at most 258 bytes for two bits (RFC 1951 §3.2.5), and then as many as zlib says: 1032 for one byte. */
const DEFLATE_RATIO = 1032;
/** GIF's LZW has codes of 12 bits at most, for strings of at most 4096 pixels. */
const LZW_PIXELS_PER_BYTE = 2731;
/** A block of 64 grey pixels takes at least a bit in baseline and progressive files that are Huffman coded. */
const JPEG_PIXELS_PER_BYTE = 512;
/** Files that claim fewer bytes are cheap, whatever their content. */
const FREE_PIXELS = 65_536;
/** Bytes of a PNG's samples for each colour type, by its number. */
const PNG_CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const PNG_HEADER_BYTES = 26;
const GIF_HEADER_BYTES = 10;

/**
 * Says that an image's header claims more pixels than its bytes can hold: a decoder
 * would make room for all of them before it finds that they are missing. Undefined for
 * all others, and for formats that hold any number of equal pixels in a few bytes.
 */
export function missingPixels(bytes: Uint8Array, format: ImageFormat): string | undefined {
  const { width, height, bytesNeeded } = claimOf(bytes, format) ?? {};
  if (bytesNeeded === undefined || bytesNeeded <= bytes.length) return undefined;
  return `its header claims ${width} x ${height} pixels, which ${bytes.length} bytes of ${FORMAT_NAMES[format]} cannot hold`;
}

interface Claim {
  readonly width: number;
  readonly height: number;
  /** The least that these pixels take; fewer are needed for none. */
  readonly bytesNeeded: number;
}

function claimOf(bytes: Uint8Array, format: ImageFormat): Claim | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (format === "png" && bytes.length >= PNG_HEADER_BYTES) return pngClaim(view);
  if (format === "gif" && bytes.length >= GIF_HEADER_BYTES) {
    return toClaim(view.getUint16(6, true), view.getUint16(8, true), 1 / LZW_PIXELS_PER_BYTE);
  }
  const jpeg = format === "jpeg" ? readJpegHeader(bytes) : undefined;
  return jpeg && toClaim(jpeg.width, jpeg.height, 1 / JPEG_PIXELS_PER_BYTE);
}

function pngClaim(view: DataView): Claim {
  const bits = view.getUint8(24) * (PNG_CHANNELS[view.getUint8(25)] ?? 1);
  return toClaim(view.getUint32(16), view.getUint32(20), bits / 8 / DEFLATE_RATIO);
}

function toClaim(width: number, height: number, bytesPerPixel: number): Claim {
  const pixels = width * height;
  return { width, height, bytesNeeded: pixels <= FREE_PIXELS ? 0 : Math.floor(pixels * bytesPerPixel) };
}
