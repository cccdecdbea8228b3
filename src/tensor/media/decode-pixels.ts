import { checkPixels, DEFAULT_MAX_PIXELS, openEncoded } from "./image-tensor.ts";
import { type PixelHeader, parsingFailed, readPixelHeader } from "./pixel-header.ts";
import type { PlainImage } from "./plain-image.ts";

/** Decoded pixels as the file holds them: channels next to one another, rows from the top. */
export interface Pixels {
  /** 8 or 16 bits for each channel. */
  readonly data: Uint8Array | Uint16Array;
  readonly width: number;
  readonly height: number;
  /** 1 = grey, 3 = RGB, 4 = RGB and alpha. */
  readonly channels: 1 | 3 | 4;
}

/** Options of decodePixels. */
export interface DecodePixelsOptions {
  /** Turn the image as its EXIF orientation says. */
  readonly exif: boolean;
  /** Refuse larger images before any pixel is decoded. Default 100 million. */
  readonly maxPixels?: number;
  /** The image's header, where it was read before. */
  readonly header?: PixelHeader;
}

/**
 * Decodes an image and leaves depth and channels as the file has them, as OpenCV's IMREAD_UNCHANGED
 * does: grey stays grey, 16 bits stay 16, alpha stays (grey with alpha becomes four channels),
 * colour profiles are ignored. Of several frames the first. Throws `invalid_argument` for bytes
 * that are not an image, damaged or too large. The caller has reserved the memory.
 */
export async function decodePixels(bytes: Uint8Array, options: DecodePixelsOptions): Promise<Pixels> {
  const { exif, maxPixels = DEFAULT_MAX_PIXELS } = options;
  const header = options.header ?? (await readPixelHeader(bytes));
  checkPixels("The image", header, maxPixels);
  const { plain } = header;
  const { width, height, channels: own } = header;
  if (plain !== undefined) return { data: decodePlain(plain), width, height, channels: own };
  try {
    const pipeline = await openEncoded(bytes, { limitInputPixels: maxPixels, autoOrient: exif, ignoreIcc: true });
    const { space, channels, depth } = header;
    const opaque = channels === 4 ? pipeline.ensureAlpha() : pipeline.removeAlpha();
    const { data, info } = await opaque.toColourspace(space).raw({ depth }).toBuffer({ resolveWithObject: true });
    const pixels = depth === "ushort" ? new Uint16Array(data.buffer, data.byteOffset, data.length / 2) : data;
    return { data: pixels, width: info.width, height: info.height, channels };
  } catch (cause) {
    throw parsingFailed(cause);
  }
}

function decodePlain(plain: PlainImage): Pixels["data"] {
  try {
    return plain.decode();
  } catch (cause) {
    throw parsingFailed(cause);
  }
}
