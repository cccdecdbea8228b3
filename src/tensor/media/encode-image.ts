import { invalidArgument } from "../../errors.ts";
import type { Tensor } from "../tensor.ts";
import { openImage } from "./image-tensor.ts";

/** Options of {@link encodeImage}. */
export interface EncodeOptions {
  readonly format: "jpeg" | "png" | "webp";
  /** 1 to 100, for JPEG and WebP; default 80. PNG is lossless and has no quality. */
  readonly quality?: number;
}

/**
 * Encodes an image into a file's bytes. JPEG drops alpha. Throws `invalid_argument` for a value that is not an image,
 * and for an invalid quality.
 */
export async function encodeImage(image: Tensor, { format, quality = 80 }: EncodeOptions): Promise<Buffer> {
  if (!Number.isInteger(quality) || quality < 1 || quality > 100) {
    throw invalidArgument(`The image quality is ${quality}; expected an integer of 1 to 100.`);
  }
  const pipeline = await openImage(image);
  switch (format) {
    case "jpeg":
      return pipeline.jpeg({ quality }).toBuffer();
    case "png":
      return pipeline.png().toBuffer();
    case "webp":
      return pipeline.webp({ quality }).toBuffer();
  }
  throw invalidArgument(`Image format "${format}" is unknown; expected jpeg, png or webp.`);
}
