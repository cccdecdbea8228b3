import type { Sharp } from "sharp";
import { invalidArgument, type ServingError } from "../errors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { countImage } from "./count-image.ts";
import { type Size, targetSize } from "./image-size.ts";
import { type Channels, type ImageTensor, imageShape, openImage, readImage } from "./image-tensor.ts";

/** Size, channels and kernel of the new image. */
export interface ResizeOptions {
  /** With `height`: stretched to exactly this size. Alone: the aspect ratio is kept. Neither: size unchanged. */
  readonly width?: number;
  readonly height?: number;
  /** Kernel that computes new pixels. Default `lanczos3`; `linear` is what most models were trained with. */
  readonly kernel?: "nearest" | "linear" | "cubic" | "lanczos3";
  /**
   * Treatment of another aspect ratio where both sides are given: `stretch` (default), or `letterbox`: the whole image,
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
