import type { Sharp } from "sharp";
import type { Tensor } from "../tensor/tensor.ts";
import { type Size, targetSize } from "./image-size.ts";
import { type Channels, type ImageTensor, imageShape, openImage, readImage } from "./image-tensor.ts";

/** What pixels should look like afterwards. */
export interface ResizeOptions {
  /** With `height`: stretched to exactly this size. Alone: the aspect ratio is kept. Neither: size unchanged. */
  readonly width?: number;
  readonly height?: number;
  /** How new pixels are computed. Default `lanczos3`; `linear` is what most models were trained with. */
  readonly kernel?: "nearest" | "linear" | "cubic" | "lanczos3";
  /** 1 = grey (BT.601 luma), 3 = RGB, 4 = RGB and alpha. Default: those of the image, 3 when decoding. */
  readonly channels?: Channels;
}

/** The image in another size, or with other channels. Throws `invalid_argument` for what is no image and for an impossible size. */
export async function resizeImage(image: Tensor, options: ResizeOptions = {}): Promise<ImageTensor> {
  const shape = imageShape(image);
  const size = targetSize(shape, options);
  return readImage(resize(await openImage(image), size, options), options.channels ?? shape.channels);
}

/** Adds the resizing to a sharp pipeline. */
export function resize(pipeline: Sharp, size: Size, { kernel = "lanczos3" }: ResizeOptions): Sharp {
  return pipeline.resize({ ...size, fit: "fill", kernel });
}
