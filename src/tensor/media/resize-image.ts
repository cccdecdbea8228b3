import type { Sharp } from "sharp";
import { invalidArgument, type ServingError } from "../../errors.ts";
import type { Tensor } from "../tensor.ts";
import { countImage } from "./count-image.ts";
import {
  type Channels,
  type ImageTensor,
  imageShape,
  openImage,
  readImage,
  type Size,
  targetSize,
} from "./image-tensor.ts";

/** Size, channels and kernel of the new image. */
export interface ResizeOptions {
  /** With `height`: stretched to exactly this size. Alone: the aspect ratio is kept. Neither: size unchanged. */
  readonly width?: number;
  readonly height?: number;
  /** Kernel that computes new pixels. Default `lanczos3`; `linear` is what most models were trained with. */
  readonly kernel?: "nearest" | "linear" | "cubic" | "lanczos3";
  /**
   * Treatment of another aspect ratio if both sides are given: `stretch` (default), or `letterbox`: the whole image,
   * padded. See letterboxOf.
   */
  readonly fit?: "stretch" | "letterbox";
  /** Colour of the padding: red, green, blue, 0 to 255 each. Default black. */
  readonly background?: readonly [red: number, green: number, blue: number];
  /** Place of the image in its letterbox: in the middle (default), or at the left upper corner. */
  readonly align?: "center" | "start";
  /** 1 = grey (BT.601 luma), 3 = RGB, 4 = RGB and alpha. Default: those of the image, 3 when decoding. */
  readonly channels?: Channels;
}

/**
 * The image in another size, or with other channels. Throws `invalid_argument` for a value that is not an image, and
 * for an invalid size.
 */
export async function resizeImage(image: Tensor, options: ResizeOptions = {}): Promise<ImageTensor> {
  const shape = imageShape(image);
  const size = targetSize(shape, options);
  const pipeline = resize(await openImage(image), size, options);
  return countImage(await readImage(pipeline, options.channels ?? shape.channels));
}

/** Adds the resizing to a sharp pipeline. */
export function resize(pipeline: Sharp, size: Size, options: ResizeOptions): Sharp {
  checkFit(options);
  const { kernel = "lanczos3", fit, align, background = [0, 0, 0] } = options;
  if (fit !== "letterbox") return pipeline.resize({ ...size, fit: "fill", kernel });
  const [r, g, b] = background;
  const position = align === "start" ? "left top" : "centre";
  return pipeline.resize({ ...size, fit: "contain", position, background: { r, g, b, alpha: 1 }, kernel });
}

/** JavaScript may pass anything. */
function checkFit({ fit = "stretch", align = "center", background, width, height }: ResizeOptions): void {
  if (fit !== "stretch" && fit !== "letterbox") throw invalid(`fit is "${fit}"; expected stretch or letterbox`);
  if (align !== "center" && align !== "start") throw invalid(`align is "${align}"; expected center or start`);
  if (fit === "letterbox" && (width === undefined || height === undefined)) {
    throw invalid("a letterbox needs width and height; give both");
  }
  const isLevel = (level: number) => level >= 0 && level <= 255;
  if (background === undefined || (background.length === 3 && background.every(isLevel))) return;
  throw invalid(`background is [${background}]; expected red, green and blue from 0 to 255`);
}

function invalid(problem: string): ServingError {
  return invalidArgument(`The image cannot be resized: ${problem}.`);
}

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
