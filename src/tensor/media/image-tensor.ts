import type { Sharp, SharpOptions } from "sharp";
import { invalidArgument } from "../../errors.ts";
import { lostPackage } from "../../lost-package.ts";
import { createTensor, type Tensor } from "../tensor.ts";
import { imageFormat } from "./image-format.ts";

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

/** Default limit of an image's pixels before decoding and after resizing: 300 MB as RGB. */
export const DEFAULT_MAX_PIXELS = 100_000_000;

/** Width and height in pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Refuses a size of more pixels than allowed with `invalid_argument`; `what` names it in the message. */
export function checkPixels(what: string, { width, height }: Size, maxPixels: number): void {
  if (width * height <= maxPixels) return;
  throw invalidArgument(`${what} has ${width} x ${height} pixels; at most ${maxPixels} pixels are accepted.`);
}

/**
 * The size an image gets: both sides wanted = exactly these; one = the other follows the aspect ratio; none =
 * unchanged. Throws `invalid_argument` for a side that is not a positive integer, and for more than `maxPixels`.
 */
export function targetSize(source: Size, wanted: Partial<Size>, maxPixels = DEFAULT_MAX_PIXELS): Size {
  const width = checkSide("width", wanted.width);
  const height = checkSide("height", wanted.height);
  const size = {
    width: width ?? follow(source.width, source.height, height),
    height: height ?? follow(source.height, source.width, width),
  };
  checkPixels("The resized image", size, maxPixels);
  return size;
}

/** One side, scaled as the other one is. */
function follow(side: number, other: number, wantedOther: number | undefined): number {
  return wantedOther === undefined ? side : Math.max(1, Math.round((side * wantedOther) / other));
}

function checkSide(name: string, side: number | undefined): number | undefined {
  if (side === undefined || (Number.isSafeInteger(side) && side > 0)) return side;
  throw invalidArgument(`The image's ${name} is ${side}; expected a positive integer.`);
}

type SharpModule = typeof import("sharp").default;

let loading: Promise<SharpModule> | undefined;

/**
 * Imports sharp on first use: a thread whose hooks touch no image starts in half the time without it. Each further
 * import() would still cost as much as a small image.
 */
export function loadSharp(): Promise<SharpModule> {
  loading ??= import("sharp").then(
    ({ default: sharp }) => {
      // Requests have nothing in common that a cache could hold, and images are decoded side by side already.
      sharp.cache(false);
      sharp.concurrency(1);
      return sharp;
    },
    (reason) => {
      throw lostPackage(reason) ?? reason;
    },
  );
  return loading;
}

/** Starts a pipeline on an encoded image. What is damaged fails, but not a TIFF with oddities, as OpenCV writes it. */
export async function openEncoded(bytes: Uint8Array, options: SharpOptions): Promise<Sharp> {
  const sharp = await loadSharp();
  return sharp(bytes, { failOn: imageFormat(bytes) === "tiff" ? "error" : "warning", ...options });
}
