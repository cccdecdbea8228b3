import { invalidArgument, type ServingError } from "../../errors.ts";
import { isDType, type NumericDType } from "../../tensor/dtype.ts";
import { imageShape } from "../../tensor/media/image-tensor.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { preprocessImages } from "./preprocess-images.ts";

/** Form of images that a model expects. */
export interface ModelInputOptions {
  /** In pixels; default: the first image's. Other sizes are resampled bilinearly, as OpenCV does it. */
  readonly width?: number;
  readonly height?: number;
  /** Place of the channels. Default `NCHW`. */
  readonly layout?: "NCHW" | "NHWC";
  /** Order of the channels, or grey. Default `RGB`. */
  readonly colorFormat?: "RGB" | "BGR" | "GRAY";
  /**
   * Subtracted from each value, which is 0 to 255: one number, or one for each channel
   * in the order of `colorFormat`. Default 0.
   */
  readonly mean?: number | readonly number[];
  /** Divisor of the rest, likewise. Default 1. */
  readonly scale?: number | readonly number[];
  /** Default `float32`. Integers are rounded and saturate. */
  readonly dtype?: NumericDType;
  /** Treatment of another aspect ratio. Default `stretch`; a letterbox is padded with 0 before mean and scale. */
  readonly fit?: "stretch" | "crop" | "letterbox";
}

/**
 * The tensor of rank 4 that a model takes for one image, or for several: `[n, channels, height, width]`, or
 * `[n, height, width, channels]`. A model that takes encoded pixels needs it not: images may be given to its input as
 * they are. Throws `invalid_argument` for bytes that are no image, for images of different sizes if no size is given or
 * of different channels, and for options that no image can have.
 */
export function toModelInput(images: Tensor | readonly Tensor[], options: ModelInputOptions = {}): Tensor {
  const list: readonly Tensor[] = Array.isArray(images) ? images : [images as Tensor];
  if (list.length === 0) throw invalid("there is no image");
  const pixels = list.map((image) => ({ ...imageShape(image), data: image.data as Uint8Array }));
  const [first] = pixels as [(typeof pixels)[0]];
  const { layout = "NCHW", colorFormat = "RGB", dtype = "float32", fit = "stretch" } = options;
  if (!isDType(dtype)) throw invalid(`dtype is "${dtype}"`);
  checkChoice("layout", layout, ["NCHW", "NHWC"]);
  checkChoice("colorFormat", colorFormat, ["RGB", "BGR", "GRAY"]);
  checkChoice("fit", fit, ["stretch", "crop", "letterbox"]);
  const size = { width: sideOf("width", options.width, pixels), height: sideOf("height", options.height, pixels) };
  const channels = colorFormat === "GRAY" ? 1 : first.channels;
  const shape = layout === "NCHW" ? [-1, channels, -1, -1] : [-1, -1, -1, channels];
  return preprocessImages({
    spec: { name: "image", dtype, shape },
    layout: { order: layout, batch: -1, height: -1, width: -1, channels },
    size,
    images: pixels,
    choices: {
      colorFormat,
      fit,
      exif: false,
      mean: numbersOf("mean", options.mean, channels),
      scale: numbersOf("scale", options.scale, channels),
    },
  });
}

function sideOf(
  name: "width" | "height",
  wanted: number | undefined,
  pixels: readonly { readonly width: number; readonly height: number }[],
): number {
  if (wanted !== undefined) {
    if (Number.isSafeInteger(wanted) && wanted > 0 && wanted <= 65_535) return wanted;
    throw invalid(`${name} is ${wanted}; expected a positive integer`);
  }
  const own = pixels[0]?.[name] ?? 0;
  if (pixels.every((image) => image[name] === own)) return own;
  throw invalid(`the images differ in ${name}; give the ${name} that all shall have`);
}

function numbersOf(name: "mean" | "scale", value: number | readonly number[] | undefined, channels: number): number[] {
  if (value === undefined) return [];
  const numbers = typeof value === "number" ? [value] : [...value];
  const isCount = numbers.length === 1 || numbers.length === channels;
  const isValid = (number: number) => Number.isFinite(number) && (name === "mean" || number !== 0);
  if (isCount && numbers.every(isValid)) return numbers;
  throw invalid(
    `${name} is [${numbers}]; expected one finite number, or ${channels}${name === "scale" ? ", other than 0" : ""}`,
  );
}

function checkChoice(name: string, value: string, choices: readonly string[]): void {
  if (choices.includes(value)) return;
  throw invalid(`${name} is "${value}"; expected ${choices.join(", ")}`);
}

function invalid(problem: string): ServingError {
  return invalidArgument(`toModelInput: ${problem}.`);
}
