import type { Sharp } from "sharp";
import { invalidArgument, reasonText, ServingError } from "../../errors.ts";
import { reserveImages } from "../../platform/limits/memory/image-reservation.ts";
import { isTensor, type Tensor } from "../tensor.ts";
import { countImage } from "./count-image.ts";
import { type DecodedForm, decoderBytes, formOfMetadata } from "./decoder-memory.ts";
import {
  EXPECTED_FORMATS,
  type ImageFormat,
  imageFormat,
  isFormat,
  openPlainImage,
  unsupportedFormat,
} from "./image-format.ts";
import {
  checkPixels,
  DEFAULT_MAX_PIXELS,
  type ImageTensor,
  loadSharp,
  openEncoded,
  readImage,
  type Size,
  targetSize,
} from "./image-tensor.ts";
import { readJpegHeader } from "./jpeg-header.ts";
import { missingPixels } from "./missing-pixels.ts";
import type { PlainImage } from "./plain-image.ts";
import { type ResizeOptions, resize } from "./resize-image.ts";

/** Options of {@link decodeImage}. */
export interface DecodeOptions extends ResizeOptions {
  /** Turn the image as its EXIF orientation says. Default true. */
  readonly exif?: boolean;
  /** Refuse larger images before any pixel is decoded. Default 100 million. */
  readonly maxPixels?: number;
  /** Gives the image up while it waits for memory, for example `ctx.signal`. */
  readonly signal?: AbortSignal;
}

/**
 * Decodes JPEG, PNG, WebP, GIF (first frame), TIFF, AVIF, BMP or PNM into pixels, RGB unless other channels are asked
 * for. Takes the bytes, or a `bytes` tensor of one element, which is how clients send an image.
 * Throws `invalid_argument`, with the kind of the value, for a value that is missing, not an image, damaged or too
 * large.
 */
export async function decodeImage(
  source: Uint8Array | Tensor | undefined,
  options: DecodeOptions = {},
): Promise<ImageTensor> {
  const bytes = encodedBytes(source);
  const { exif = true, maxPixels = DEFAULT_MAX_PIXELS, channels = 3, signal } = options;
  const format = imageFormat(bytes);
  if (format === undefined) throw notAnImage(bytes);
  const header = await readHeader(bytes, format, exif);
  checkPixels("The image", header, maxPixels);
  const size = targetSize(header, options, maxPixels);
  const reserved = await reserveImages(bytesNeeded(bytes, header, { ...size, channels }), signal);
  try {
    const { plain } = header;
    const reading = { limitInputPixels: false, autoOrient: exif };
    const pipeline = await (plain ? openPlain(plain) : openEncoded(bytes, reading));
    return countImage(await readImage(resize(pipeline, size, options), channels), reserved);
  } catch (cause) {
    reserved.release();
    return refuseDamaged(cause);
  }
}

/** An image before it is decoded; its size is that after it was turned. */
interface ImageHeader extends Size {
  readonly form: DecodedForm;
  readonly isTurned: boolean;
  /** Its pixels, if no library decodes it. */
  readonly plain?: PlainImage;
}

interface Decoding extends Size {
  readonly channels: number;
}

/** Bytes of the decoder, of the whole image if it is turned, and of the result; grey is computed from colours. */
function bytesNeeded(bytes: Uint8Array, header: ImageHeader, { width, height, channels }: Decoding): number {
  const { form, isTurned } = header;
  const turned = isTurned ? form.width * form.height * form.channels * form.sampleBytes : 0;
  return decoderBytes(bytes, form) + turned + width * height * (channels === 1 ? 4 : channels);
}

function encodedBytes(source: Uint8Array | Tensor | undefined): Uint8Array {
  if (source instanceof Uint8Array) return source;
  if (isTensor(source) && source.dtype === "bytes" && source.data.length === 1) return source.data[0]!;
  const came = isTensor(source) ? `Tensor ${source.dtype} [${source.shape}] is not an encoded image` : "No image came";
  throw invalidArgument(`${came}; ${EXPECTED_FORMATS}, as a bytes tensor of one element.`);
}

/** The header, in the format of the first bytes, not in the one that the library detects. */
async function readHeader(bytes: Uint8Array, format: ImageFormat, exif: boolean): Promise<ImageHeader> {
  const missing = missingPixels(bytes, format);
  if (missing !== undefined) refuseDamaged(new Error(missing));
  const plain = await openPlainImage(bytes, format).catch(refuseDamaged);
  if (plain !== undefined) return ofPlain(plain);
  const jpeg = format === "jpeg" ? readJpegHeader(bytes) : undefined;
  if (jpeg !== undefined && (jpeg.isUpright || !exif)) {
    const { width, height } = jpeg;
    return { width, height, form: { ...jpeg, sampleBytes: 1 }, isTurned: false };
  }
  const sharp = await loadSharp();
  try {
    const metadata = await sharp(bytes, { limitInputPixels: false }).metadata();
    if (isFormat(metadata, format)) {
      const { width, height } = exif ? metadata.autoOrient : metadata;
      return { width, height, form: formOfMetadata(metadata), isTurned: exif && (metadata.orientation ?? 1) > 1 };
    }
  } catch (cause) {
    throw refusalOf(bytes, cause);
  }
  throw refusalOf(bytes);
}

function ofPlain(plain: PlainImage): ImageHeader {
  const { width, height, channels, depth } = plain;
  const form = { width, height, channels, sampleBytes: depth === "ushort" ? 2 : 1, isProgressive: false } as const;
  return { width, height, form, isTurned: false, plain };
}

/** As bytes, scaled if a full sample is another number. */
async function openPlain(plain: PlainImage): Promise<Sharp> {
  const { width, height, channels, maxValue } = plain;
  const values = plain.decode();
  const pixels = maxValue === 255 ? values : Uint8Array.from(values, (value) => Math.round((value * 255) / maxValue));
  const sharp = await loadSharp();
  return sharp(pixels, { raw: { width, height, channels }, limitInputPixels: false });
}

/** Bytes that a refusal shows. */
const SHOWN_BYTES = 8;

/**
 * The last error, and the bytes that it is about: a hook may decode a million equal ones at once, each of which would
 * keep an error.
 */
let lastRefusal: { readonly length: number; readonly start: Buffer; readonly error: ServingError } | undefined;

function notAnImage(bytes: Uint8Array): ServingError {
  const start = bytes.subarray(0, SHOWN_BYTES);
  if (lastRefusal?.length === bytes.length && lastRefusal.start.equals(start)) return lastRefusal.error;
  lastRefusal = { length: bytes.length, start: Buffer.from(start), error: refusalOf(bytes) };
  return lastRefusal.error;
}

function refusalOf(bytes: Uint8Array, cause?: unknown): ServingError {
  const start = Buffer.from(bytes.subarray(0, SHOWN_BYTES));
  const text = start.toString("latin1").replace(/[^\x20-\x7e]/g, ".");
  const begins = start.length === 0 ? "" : ` that begin with ${start.toString("hex")} ("${text}")`;
  const unsupported = unsupportedFormat(bytes);
  const other = unsupported === undefined ? "" : `: ${unsupported}`;
  return invalidArgument(`${bytes.length} bytes${begins} are not an image${other}; ${EXPECTED_FORMATS}.`, cause);
}

function refuseDamaged(cause: unknown): never {
  if (cause instanceof ServingError) throw cause;
  throw invalidArgument(`The image is damaged: ${reasonText(cause)}.`, cause);
}
