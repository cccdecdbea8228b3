import type { Metadata } from "sharp";
import { reasonText, ServingError } from "../errors.ts";
import { EXPECTED_FORMATS, imageFormat } from "./image-format.ts";
import { checkPixels, DEFAULT_MAX_PIXELS, type Size } from "./image-size.ts";
import { isFormat } from "./is-format.ts";
import { readJpegHeader } from "./jpeg-header.ts";
import { loadSharp } from "./load-sharp.ts";
import { missingPixels } from "./missing-pixels.ts";

/** Decoded pixels as the file holds them: channels next to one another, rows from the top. */
export interface Pixels {
  /** 8 or 16 bits for each channel. */
  readonly data: Uint8Array | Uint16Array;
  readonly width: number;
  readonly height: number;
  /** 1 = grey, 3 = RGB, 4 = RGB and alpha. */
  readonly channels: 1 | 3 | 4;
}

/** How to decode. */
export interface DecodePixelsOptions {
  /** Turn the image as its EXIF orientation says. */
  readonly exif: boolean;
  /** Refuse larger images before any pixel is decoded. Default 100 million. */
  readonly maxPixels?: number;
  /** Told the size before any pixel is decoded; what it throws refuses the image. */
  readonly onSize?: (size: Size) => void;
}

/**
 * Decodes an image and leaves depth and channels as the file has them, as OpenCV's IMREAD_UNCHANGED does: grey stays grey, 16
 * bits stay 16, alpha stays (grey with alpha becomes four channels), colour profiles are ignored. Of several frames the first.
 * Throws `invalid_argument` for what is no image, damaged or too large.
 */
export async function decodePixels(bytes: Uint8Array, options: DecodePixelsOptions): Promise<Pixels> {
  const sharp = await loadSharp();
  const { exif, maxPixels = DEFAULT_MAX_PIXELS } = options;
  try {
    const header = await readHeader(bytes);
    checkPixels("The image", header, maxPixels);
    options.onSize?.(header);
    const pipeline = sharp(bytes, { limitInputPixels: maxPixels, autoOrient: exif, ignoreIcc: true });
    const { space, channels, depth } = header;
    const opaque = channels === 4 ? pipeline.ensureAlpha() : pipeline.removeAlpha();
    const { data, info } = await opaque.toColourspace(space).raw({ depth }).toBuffer({ resolveWithObject: true });
    const pixels = depth === "ushort" ? new Uint16Array(data.buffer, data.byteOffset, data.length / 2) : data;
    return { data: pixels, width: info.width, height: info.height, channels };
  } catch (cause) {
    if (cause instanceof ServingError) throw cause;
    throw new ServingError("invalid_argument", `Image parsing failed: ${firstReason(cause)}; ${EXPECTED_FORMATS}`, {
      cause,
    });
  }
}

/** libvips says the same for each time it tried, in lines. */
function firstReason(cause: unknown): string {
  const [line = ""] = reasonText(cause).split("\n", 1);
  return line.replace(/:\s*$/, "");
}

interface PixelForm {
  readonly width: number;
  readonly height: number;
  readonly space: "b-w" | "srgb" | "grey16" | "rgb16";
  readonly channels: Pixels["channels"];
  readonly depth: "uchar" | "ushort";
}

/** What is known without decoding a pixel. */
async function readHeader(bytes: Uint8Array): Promise<PixelForm> {
  const format = imageFormat(bytes);
  if (format === undefined) throw new Error("Input buffer contains unsupported image format");
  const missing = missingPixels(bytes, format);
  if (missing !== undefined) throw new Error(missing);
  const jpeg = format === "jpeg" ? readJpegHeader(bytes) : undefined;
  if (jpeg !== undefined) return { ...jpeg, space: jpeg.channels === 1 ? "b-w" : "srgb", depth: "uchar" };
  const sharp = await loadSharp();
  const metadata = await sharp(bytes, { limitInputPixels: false }).metadata();
  if (!isFormat(metadata, format)) throw new Error("its first bytes are of another format than the rest");
  return { width: metadata.width, height: metadata.height, ...formOf(metadata) };
}

function formOf({ space, depth, hasAlpha, channels }: Metadata): Pick<PixelForm, "space" | "channels" | "depth"> {
  const isDeep = depth === "ushort" || space === "rgb16" || space === "grey16";
  const isGrey = channels < 3 && !hasAlpha;
  return {
    space: isGrey ? (isDeep ? "grey16" : "b-w") : isDeep ? "rgb16" : "srgb",
    channels: isGrey ? 1 : hasAlpha ? 4 : 3,
    depth: isDeep ? "ushort" : "uchar",
  };
}
