import type { Sharp } from "sharp";
import { invalidArgument } from "../errors.ts";
import { createTensor, type Tensor } from "../tensor/tensor.ts";
import { loadSharp } from "./load-sharp.ts";

/**
 * Decoded pixels: uint8 of shape [height, width, channels], rows from the top; 1
 * channel is grey, 3 are RGB, 4 are RGB and alpha.
 */
export type ImageTensor = Tensor<"uint8">;

/** Channels that an {@link ImageTensor} may have. */
export type Channels = 1 | 3 | 4;
const CHANNELS: readonly number[] = [1, 3, 4];

/** Checks that a tensor is an image. */
export function isPixels({ dtype, shape }: Tensor): boolean {
  const [height = 0, width = 0, channels = 0] = shape;
  return dtype === "uint8" && shape.length === 3 && CHANNELS.includes(channels) && height > 0 && width > 0;
}

/** Height, width and channels of an image; throws `invalid_argument` for a tensor of another form. */
export function imageShape(image: Tensor): { height: number; width: number; channels: Channels } {
  const [height = 0, width = 0, channels = 0] = image.shape;
  if (!isPixels(image)) {
    throw invalidArgument(
      `Tensor ${image.dtype} [${image.shape}] is not an image; expected uint8 [height, width, channels] with 1, 3 or 4 channels.`,
    );
  }
  return { height, width, channels: channels as Channels };
}

/** Starts a sharp pipeline on the image's pixels, without a copy; throws like {@link imageShape}. */
export async function openImage(image: Tensor): Promise<Sharp> {
  const raw = imageShape(image);
  const sharp = await loadSharp();
  return sharp(image.data as Uint8Array, { raw, limitInputPixels: false });
}

/** Runs a sharp pipeline and gives its pixels with the channels wanted; alpha that is not wanted is dropped. */
export async function readImage(pipeline: Sharp, channels: Channels): Promise<ImageTensor> {
  checkChannels(channels);
  const colour = pipeline.toColourspace("srgb");
  const output = channels === 4 ? colour.ensureAlpha() : colour.removeAlpha();
  const { data, info } = await output.raw({ depth: "uchar" }).toBuffer({ resolveWithObject: true });
  if (channels === 1) return createTensor("uint8", [info.height, info.width, 1], toGrey(data));
  const pixels = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return createTensor("uint8", [info.height, info.width, info.channels], pixels);
}

function checkChannels(channels: number): void {
  if (CHANNELS.includes(channels)) return;
  throw invalidArgument(`An image of ${channels} channels was asked for; expected 1, 3 or 4.`);
}

/**
 * Luma of ITU-R BT.601, as PIL and OpenCV compute it; libvips would give linear-light
 * luminance, which no model was trained on.
 */
function toGrey(rgb: Uint8Array): Uint8Array {
  const grey = new Uint8Array(rgb.length / 3);
  for (let pixel = 0, at = 0; pixel < grey.length; pixel++, at += 3) {
    const red = rgb[at]!;
    const green = rgb[at + 1]!;
    const blue = rgb[at + 2]!;
    grey[pixel] = Math.round(0.299 * red + 0.587 * green + 0.114 * blue);
  }
  return grey;
}
