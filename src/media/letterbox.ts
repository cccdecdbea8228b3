import type { Tensor } from "../tensor/tensor.ts";
import { type Size, targetSize } from "./image-size.ts";
import { imageShape } from "./image-tensor.ts";

/** A rectangle in pixels. */
export interface Edges {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Place of an image in its letterbox, and the way back. */
export interface Letterbox extends Size {
  /** Room before the image, in pixels of the letterbox. */
  readonly left: number;
  readonly top: number;
  /** A rectangle of the letterbox as one of the image: what lies beyond the image's edges is cut off. */
  toImage(box: Edges): Edges;
}

/** Options of {@link letterboxOf}: those that `resizeImage` got. */
export interface LetterboxOptions extends Size {
  /** Place of the image: in the middle (default), or at the left upper corner. */
  readonly align?: "center" | "start";
}

/**
 * Tells where `resizeImage(image, { fit: "letterbox", … })` has put an image, to map the boxes that a model found back
 * to the image. Its `width` and `height` are those of the drawn image, without the padding. Throws `invalid_argument`
 * for tensors that are not images, and for an impossible size.
 */
export function letterboxOf(image: Tensor, options: LetterboxOptions): Letterbox {
  const source = imageShape(image);
  const outer = targetSize(source, options);
  const scale = Math.min(outer.width / source.width, outer.height / source.height);
  const width = Math.min(outer.width, Math.max(1, Math.round(source.width * scale)));
  const height = Math.min(outer.height, Math.max(1, Math.round(source.height * scale)));
  const isCentered = options.align !== "start";
  const left = isCentered ? Math.floor((outer.width - width) / 2) : 0;
  const top = isCentered ? Math.floor((outer.height - height) / 2) : 0;
  const toX = (x: number) => Math.min(source.width, Math.max(0, ((x - left) * source.width) / width));
  const toY = (y: number) => Math.min(source.height, Math.max(0, ((y - top) * source.height) / height));
  const toImage = (box: Edges) => ({
    left: toX(box.left),
    top: toY(box.top),
    right: toX(box.right),
    bottom: toY(box.bottom),
  });
  return { width, height, left, top, toImage };
}
