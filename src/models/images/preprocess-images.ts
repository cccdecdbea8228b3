import { type DType, integerRange, type NumericData, type NumericDType, numericLayout } from "../../tensor/dtype.ts";
import { toFloat16 } from "../../tensor/float16.ts";
import type { Pixels } from "../../tensor/media/decode-pixels.ts";
import { resample } from "../../tensor/media/decode-pixels.ts";
import type { TensorSpec } from "../../tensor/signature/signature.ts";
import { createTensor, type Tensor } from "../../tensor/tensor.ts";
import type { ImageLayout, TargetSize } from "./image-layout.ts";
import type { ImageChoices } from "./image-options.ts";
import { imageRefused } from "./image-refused.ts";

/** Encoded images, and the input that they are for. */
export interface ImagePreprocessing {
  readonly spec: TensorSpec;
  readonly layout: ImageLayout;
  readonly size: TargetSize;
  /** The images, all with the same channels. */
  readonly images: readonly Pixels[];
  readonly choices: ImageChoices;
}

/** Dtypes that images can become. Integers saturate; floats hold any value of an image. */
const IMAGE_DTYPES: readonly DType[] = ["uint8", "int8", "uint16", "int16", "int32", "float16", "float32", "float64"];

/** Dtypes that hold the values of 8 bits as they are. */
const EXACT_DTYPES: readonly DType[] = ["uint8", "uint16", "int16", "int32", "float32", "float64"];

/**
 * The tensor of one input that images become. Throws `invalid_argument` for a dtype that they do not become, and for
 * images whose channels are not the input's.
 */
export function preprocessImages({ images, ...preprocessing }: ImagePreprocessing): Tensor {
  const { spec, layout, size, choices } = preprocessing;
  checkDType(spec);
  const colours = images.map((image) => toColours(image, spec, { layout, choices }));
  const channels = colours[0]?.channels ?? 0;
  checkChannels(colours, channels, preprocessing);
  const sizes = layout.order === "NHWC" ? [size.height, size.width, channels] : [channels, size.height, size.width];
  const isExact = colours.every((image) => keepsValues(image, preprocessing));
  const data = (isExact ? copyAll : computeAll)({ images: colours, ...preprocessing });
  return createTensor(spec.dtype, [images.length, ...sizes], data as never);
}

/** Checks if the values of an image are those of the input, in whatever order. */
function keepsValues({ data, width, height }: Pixels, { spec, size, choices }: Omit<ImagePreprocessing, "images">) {
  const isSameSize = width === size.width && height === size.height;
  const isChanged = choices.mean.length > 0 || choices.scale.length > 0;
  return data instanceof Uint8Array && isSameSize && !isChanged && EXACT_DTYPES.includes(spec.dtype);
}

function copyAll(preprocessing: ImagePreprocessing): NumericData {
  const { spec, images } = preprocessing;
  const length = images.reduce((sum, { data }) => sum + data.length, 0);
  const data = new (numericLayout(spec.dtype as NumericDType).array)(length) as PixelTarget["data"];
  for (const [index, image] of images.entries())
    copyPixels(image, { data, ...placesOf(index, image.channels, preprocessing) });
  return data;
}

function computeAll(preprocessing: ImagePreprocessing): NumericData {
  const { spec, layout, size, images, choices } = preprocessing;
  const pixels = size.width * size.height;
  const channels = images[0]?.channels ?? 0;
  const values = new (spec.dtype === "float64" ? Float64Array : Float32Array)(images.length * pixels * channels);
  for (const [index, image] of images.entries()) {
    const target = { ...size, fit: choices.fit, data: values, ...placesOf(index, channels, preprocessing) };
    resample({ ...image, data: saturate(image.data, spec.dtype) }, target);
  }
  const isLast = layout.order === "NHWC";
  normalise(values, choices, (index) => (isLast ? index % channels : Math.floor(index / pixels) % channels));
  return toElements(values, spec.dtype as NumericDType);
}

/** The index of each channel's first value of an image in the tensor, and the places from one pixel to the next. */
function placesOf(
  index: number,
  channels: number,
  { layout, size, choices }: Pick<ImagePreprocessing, "layout" | "size" | "choices">,
) {
  const pixels = size.width * size.height;
  const isLast = layout.order === "NHWC";
  const start = index * pixels * channels;
  const starts = channelOrder(channels, choices).map((to) => start + to * (isLast ? 1 : pixels));
  return { pixelStride: isLast ? channels : 1, starts };
}

function checkDType(spec: TensorSpec): void {
  if (IMAGE_DTYPES.includes(spec.dtype)) return;
  throw imageRefused("Invalid input precision", `Images do not become ${spec.dtype}`, spec);
}

/** Refuses images with different channels, if the input leaves them open, and numbers for other channels. */
function checkChannels(
  colours: readonly Pixels[],
  channels: number,
  { spec, choices }: Pick<ImagePreprocessing, "spec" | "choices">,
): void {
  const what = "Invalid number of channels in binary input";
  const other = colours.find((image) => image.channels !== channels);
  if (other !== undefined)
    throw imageRefused(what, `The first image has ${channels}; another has ${other.channels}`, spec);
  for (const name of ["mean", "scale"] as const) {
    const { length } = choices[name];
    if (length > 1 && length !== channels)
      throw imageRefused(what, `The option ${name} has numbers for ${length}; Actual: ${channels}`, spec);
  }
}

interface ColourWish {
  readonly layout: ImageLayout;
  readonly choices: ImageChoices;
}

/** The image with the channels that the input has; only grey is computed, all else has to come so. */
function toColours(image: Pixels, spec: TensorSpec, { layout, choices }: ColourWish): Pixels {
  const grey = choices.colorFormat === "GRAY" && image.channels > 1 ? toGrey(image) : image;
  if (layout.channels === -1 || layout.channels === grey.channels) return grey;
  throw imageRefused(
    "Invalid number of channels in binary input",
    `Expected: ${layout.channels}; Actual: ${grey.channels}${layout.channels === 1 ? " (-o color_format=GRAY makes images grey)" : ""}`,
    spec,
  );
}

/** Luma of ITU-R BT.601, rounded, as OpenCV has it. */
function toGrey({ data, width, height, channels }: Pixels): Pixels {
  const grey = new (data instanceof Uint16Array ? Uint16Array : Uint8Array)(width * height);
  for (let pixel = 0, at = 0; pixel < grey.length; pixel++, at += channels) {
    const [red, green, blue] = [data[at]!, data[at + 1]!, data[at + 2]!];
    grey[pixel] = Math.round(0.299 * red + 0.587 * green + 0.114 * blue);
  }
  return { data: grey, width, height, channels: 1 };
}

/** Place of each channel of red, green, blue and alpha. */
function channelOrder(channels: number, { colorFormat }: ImageChoices): readonly number[] {
  if (channels < 3) return [0];
  return colorFormat === "RGB" ? [0, 1, 2, 3].slice(0, channels) : [2, 1, 0, 3].slice(0, channels);
}

/** Clips values to the dtype's range; before resizing, as OpenCV's convertTo does. */
function saturate(data: Pixels["data"], dtype: DType): ArrayLike<number> {
  const [, end] = integerRange(dtype) ?? [];
  const largest = data instanceof Uint16Array ? 65535 : 255;
  return end === undefined || end > largest ? data : Uint16Array.from(data, (value) => Math.min(value, end - 1));
}

/** (value - mean) / scale, in place. */
function normalise(
  values: Float32Array | Float64Array,
  choices: ImageChoices,
  channelAt: (index: number) => number,
): void {
  const { mean, scale } = choices;
  if (mean.length === 0 && scale.length === 0) return;
  const ofChannel = (numbers: readonly number[], channel: number, none: number) =>
    numbers[numbers.length === 1 ? 0 : channel] ?? none;
  for (let index = 0; index < values.length; index++) {
    const channel = channelAt(index);
    values[index] = (values[index]! - ofChannel(mean, channel, 0)) / ofChannel(scale, channel, 1);
  }
}

function toElements(values: Float32Array | Float64Array, dtype: NumericDType) {
  if (dtype === "float32" || dtype === "float64") return values;
  const elements = new (numericLayout(dtype).array)(values.length);
  const range = integerRange(dtype);
  for (let index = 0; index < values.length; index++) {
    const value = values[index]!;
    elements[index] =
      range === undefined ? toFloat16(value) : Math.min(range[1] - 1, Math.max(range[0], Math.round(value)));
  }
  return elements;
}

/** The array that the values go to. */
interface PixelTarget {
  readonly data: Uint8Array | Uint16Array | Int16Array | Int32Array | Float32Array | Float64Array;
  /** Places in `data` from one pixel to the next. */
  readonly pixelStride: number;
  /** Index in `data` of the first pixel's value of each channel. */
  readonly starts: readonly number[];
}

/** Copies the values of an image as they are. */
function copyPixels({ data, channels }: Pixels, target: PixelTarget): void {
  if (channels === 3) {
    copyColours(data, target);
    return;
  }
  const { data: into, pixelStride, starts } = target;
  for (const [channel, start] of starts.entries())
    for (let from = channel, place = start; from < data.length; from += channels, place += pixelStride)
      into[place] = data[from]!;
}

/** The same for nearly every image, a third faster: written out for three channels. */
function copyColours(data: Pixels["data"], { data: into, pixelStride, starts }: PixelTarget): void {
  const [red, green, blue] = starts as [number, number, number];
  for (let from = 0, place = 0; from < data.length; from += 3, place += pixelStride) {
    into[place + red] = data[from]!;
    into[place + green] = data[from + 1]!;
    into[place + blue] = data[from + 2]!;
  }
}
