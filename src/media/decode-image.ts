import type { Metadata } from "sharp";
import { reasonText, ServingError } from "../errors.ts";
import { isTensor, type Tensor } from "../tensor/tensor.ts";
import { EXPECTED_FORMATS, imageFormat } from "./image-format.ts";
import { checkPixels, DEFAULT_MAX_PIXELS, targetSize } from "./image-size.ts";
import { type ImageTensor, readImage } from "./image-tensor.ts";
import { isFormat } from "./is-format.ts";
import { loadSharp } from "./load-sharp.ts";
import { missingPixels } from "./missing-pixels.ts";
import { type ResizeOptions, resize } from "./resize-image.ts";

/** How to decode. */
export interface DecodeOptions extends ResizeOptions {
  /** Turn the image as its EXIF orientation says. Default true. */
  readonly exif?: boolean;
  /** Refuse larger images before any pixel is decoded. Default 100 million. */
  readonly maxPixels?: number;
}

/**
 * Decodes JPEG, PNG, WebP, GIF (first frame), TIFF or AVIF into pixels, RGB unless other channels are asked for.
 * Takes the bytes, or a `bytes` tensor of one element, which is how clients send an image.
 * Throws `invalid_argument` saying what came for anything that is missing, not an image, damaged or too large.
 */
export async function decodeImage(
  source: Uint8Array | Tensor | undefined,
  options: DecodeOptions = {},
): Promise<ImageTensor> {
  const bytes = encodedBytes(source);
  const { exif = true, maxPixels = DEFAULT_MAX_PIXELS, channels = 3 } = options;
  const metadata = await readMetadata(bytes);
  const original = exif ? metadata.autoOrient : metadata;
  checkPixels("The image", original, maxPixels);
  const sharp = await loadSharp();
  const pipeline = sharp(bytes, { limitInputPixels: false, autoOrient: exif });
  return readImage(resize(pipeline, targetSize(original, options, maxPixels), options), channels).catch(refuseDamaged);
}

function encodedBytes(source: Uint8Array | Tensor | undefined): Uint8Array {
  if (source instanceof Uint8Array) return source;
  if (isTensor(source) && source.dtype === "bytes" && source.data.length === 1) return source.data[0] as Uint8Array;
  const came = isTensor(source) ? `Tensor ${source.dtype} [${source.shape}] is not an encoded image` : "No image came";
  throw new ServingError("invalid_argument", `${came}; ${EXPECTED_FORMATS}, as a bytes tensor of one element.`);
}

/** The header, of a format that the first bytes told, not of whatever the library takes the rest for. */
async function readMetadata(bytes: Uint8Array): Promise<Metadata> {
  const format = imageFormat(bytes);
  if (format === undefined) throw notAnImage(bytes);
  const missing = missingPixels(bytes, format);
  if (missing !== undefined) refuseDamaged(new Error(missing));
  const sharp = await loadSharp();
  try {
    const metadata = await sharp(bytes, { limitInputPixels: false }).metadata();
    if (isFormat(metadata, format)) return metadata;
  } catch (cause) {
    throw notAnImage(bytes, cause);
  }
  throw notAnImage(bytes);
}

function notAnImage(bytes: Uint8Array, cause?: unknown): ServingError {
  const start = Buffer.from(bytes.subarray(0, 8));
  const text = start.toString("latin1").replace(/[^\x20-\x7e]/g, ".");
  const begins = start.length === 0 ? "" : ` that begin with ${start.toString("hex")} ("${text}")`;
  return new ServingError("invalid_argument", `${bytes.length} bytes${begins} are not an image; ${EXPECTED_FORMATS}.`, {
    cause,
  });
}

function refuseDamaged(cause: unknown): never {
  throw new ServingError("invalid_argument", `The image is damaged: ${reasonText(cause)}.`, { cause });
}
