import type { Metadata } from "sharp";
import { type ImageFormat, imageFormat } from "./image-format.ts";

/** Facts that determine a decoder's memory in addition to its output. */
export interface DecodedForm {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  /** Bytes of one sample. */
  readonly sampleBytes: 1 | 2;
  /** Progressive or interlaced: the decoder holds the whole image. */
  readonly isProgressive: boolean;
}

/** Bytes for each pixel, measured with libvips 8.18: peaks of flat images of 36 million pixels, rounded up. */
const STREAMED = 0.5;
const PROGRESSIVE_JPEG = 6.5;
const WEBP = 5.5;
const GIF = 5.5;
const AVIF = 16;

/** Bytes that a decoder takes at most while it decodes such an image, without its output. */
export function decoderBytes(bytes: Uint8Array, form: DecodedForm): number {
  const format = imageFormat(bytes);
  return format === undefined ? 0 : Math.ceil(form.width * form.height * bytesPerPixel(format, form));
}

function bytesPerPixel(format: ImageFormat, { channels, sampleBytes, isProgressive }: DecodedForm): number {
  switch (format) {
    case "jpeg":
      return isProgressive ? PROGRESSIVE_JPEG : STREAMED;
    case "png":
      return isProgressive ? channels * sampleBytes : STREAMED;
    case "webp":
      return WEBP;
    case "gif":
      return GIF;
    case "tiff":
      // One strip may be the whole image.
      return channels * sampleBytes;
    case "bmp":
    case "pnm":
      // All pixels as they are in the file.
      return channels * sampleBytes;
    case "avif":
      return AVIF * sampleBytes;
  }
}

/** The form in a library's metadata. */
export function formOfMetadata({ width, height, channels, depth, isProgressive, hasAlpha }: Metadata): DecodedForm {
  const isDeep = depth !== "uchar" && depth !== "char";
  return {
    width,
    height,
    channels: Math.max(channels, hasAlpha ? 4 : 1),
    sampleBytes: isDeep ? 2 : 1,
    isProgressive: isProgressive === true,
  };
}
