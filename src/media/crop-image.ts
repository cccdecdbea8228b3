import { invalidArgument } from "../errors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { countImage } from "./count-image.ts";
import { type Size, targetSize } from "./image-size.ts";
import { type ImageTensor, imageShape, openImage, readImage } from "./image-tensor.ts";
import { type ResizeOptions, resize } from "./resize-image.ts";

/** A part of an image, in pixels from its left upper corner; fractions are rounded. */
export interface CropBox extends Size {
  readonly left: number;
  readonly top: number;
}

/**
 * Cuts a box out of an image, and optionally resizes it. The part beyond the image's edges is dropped.
 * Throws `invalid_argument` for a box that misses the image altogether.
 */
export async function cropImage(image: Tensor, box: CropBox, options: ResizeOptions = {}): Promise<ImageTensor> {
  const shape = imageShape(image);
  const region = clamp(box, shape);
  const size = targetSize(region, options);
  const pipeline = resize((await openImage(image)).extract(region), size, options);
  return countImage(await readImage(pipeline, options.channels ?? shape.channels));
}

function clamp({ left, top, width, height }: CropBox, image: Size): CropBox {
  const x = clampSpan(left, left + width, image.width);
  const y = clampSpan(top, top + height, image.height);
  if (x.length >= 1 && y.length >= 1) return { left: x.start, top: y.start, width: x.length, height: y.length };
  throw invalidArgument(
    `Box left ${left}, top ${top}, width ${width}, height ${height} has no pixel of the ${image.width} x ${image.height} image.`,
  );
}

function clampSpan(start: number, end: number, limit: number): { start: number; length: number } {
  const from = Math.max(0, Math.round(start));
  const to = Math.min(limit, Math.round(end));
  return { start: from, length: to - from };
}
