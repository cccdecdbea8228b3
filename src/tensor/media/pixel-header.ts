import type { Metadata } from "sharp";
import { invalidArgument, reasonText, ServingError } from "../../errors.ts";
import { decoderBytes, formOfMetadata } from "./decoder-memory.ts";
import { EXPECTED_FORMATS, imageFormat, isFormat, openPlainImage, unsupportedFormat } from "./image-format.ts";
import { loadSharp } from "./image-tensor.ts";
import { readJpegHeader } from "./jpeg-header.ts";
import { missingPixels } from "./missing-pixels.ts";
import type { PlainImage } from "./plain-image.ts";

/**
 * Facts about an image that are known without decoding a pixel, and the way to decode it with its own depth and
 * channels.
 */
export interface PixelHeader {
  /** As the file has them; EXIF may exchange them. */
  readonly width: number;
  readonly height: number;
  readonly space: "b-w" | "srgb" | "grey16" | "rgb16";
  /** 1 = grey, 3 = RGB, 4 = RGB and alpha. */
  readonly channels: 1 | 3 | 4;
  readonly depth: "uchar" | "ushort";
  /** Bytes of the pixels. */
  readonly pixelBytes: number;
  /** Further memory of the decoder while it runs, in bytes. */
  readonly decoderBytes: number;
  /** Its pixels, if no library decodes it. */
  readonly plain?: PlainImage | undefined;
}

/**
 * Reads an image's header. Throws `invalid_argument` for bytes that are not an image, and for an image that claims more
 * pixels than its bytes can contain.
 */
export async function readPixelHeader(bytes: Uint8Array): Promise<PixelHeader> {
  try {
    return await readHeader(bytes);
  } catch (cause) {
    throw parsingFailed(cause);
  }
}

/** The error for an unreadable image, with OpenVINO Model Server's text. */
export function parsingFailed(cause: unknown): ServingError {
  if (cause instanceof ServingError) return cause;
  // libvips repeats the message on a line for each attempt.
  const [line = ""] = reasonText(cause).split("\n", 1);
  const message = `Image parsing failed: ${line.replace(/:\s*$/, "")}; ${EXPECTED_FORMATS}`;
  return invalidArgument(message, cause);
}

async function readHeader(bytes: Uint8Array): Promise<PixelHeader> {
  const format = imageFormat(bytes);
  if (format === undefined)
    throw new Error(unsupportedFormat(bytes) ?? "Input buffer contains unsupported image format");
  const plain = await openPlainImage(bytes, format);
  if (plain !== undefined) return ofPlain(plain);
  const missing = missingPixels(bytes, format);
  if (missing !== undefined) throw new Error(missing);
  const jpeg = format === "jpeg" ? readJpegHeader(bytes) : undefined;
  if (jpeg !== undefined) {
    const { width, height, channels } = jpeg;
    const form = { width, height, channels, space: channels === 1 ? "b-w" : "srgb", depth: "uchar" } as const;
    return { ...form, pixelBytes: sizeOf(form), decoderBytes: decoderBytes(bytes, { ...jpeg, sampleBytes: 1 }) };
  }
  const sharp = await loadSharp();
  const metadata = await sharp(bytes, { limitInputPixels: false }).metadata();
  if (!isFormat(metadata, format)) throw new Error("its first bytes are of another format than the rest");
  const form = { width: metadata.width, height: metadata.height, ...formOf(metadata) };
  return { ...form, pixelBytes: sizeOf(form), decoderBytes: decoderBytes(bytes, formOfMetadata(metadata)) };
}

function ofPlain(plain: PlainImage): PixelHeader {
  const { width, height, channels, depth } = plain;
  const space = channels === 1 ? (depth === "ushort" ? "grey16" : "b-w") : depth === "ushort" ? "rgb16" : "srgb";
  return { width, height, channels, depth, space, pixelBytes: sizeOf(plain), decoderBytes: 0, plain };
}

type Form = Pick<PixelHeader, "width" | "height" | "channels" | "depth">;

function sizeOf({ width, height, channels, depth }: Form): number {
  return width * height * channels * (depth === "ushort" ? 2 : 1);
}

function formOf({ space, depth, hasAlpha, channels }: Metadata): Pick<PixelHeader, "space" | "channels" | "depth"> {
  const isDeep = depth === "ushort" || space === "rgb16" || space === "grey16";
  const isGrey = channels < 3 && !hasAlpha;
  return {
    space: isGrey ? (isDeep ? "grey16" : "b-w") : isDeep ? "rgb16" : "srgb",
    channels: isGrey ? 1 : hasAlpha ? 4 : 3,
    depth: isDeep ? "ushort" : "uchar",
  };
}
