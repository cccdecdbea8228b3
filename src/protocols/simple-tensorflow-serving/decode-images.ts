import { toAbortSignal } from "../../async/cancel-source.ts";
import { codecs } from "../../codec-host/codecs.ts";
import { invalidArgument, publicText } from "../../errors.ts";
import { decodeImage } from "../../media/decode-image.ts";
import type { ImageTensor } from "../../media/image-tensor.ts";
import type { CallOptions } from "../../serving/inference-service.ts";
import type { Dimension, TensorSpec } from "../../signature/signature.ts";
import { toSize } from "../../signature/to-size.ts";
import { elementCount, type Tensor } from "../../tensor/tensor.ts";
import { assemblePixelsJob } from "./assemble-pixels.ts";
import type { FormRequest } from "./form-request.ts";

type Images = Pick<FormRequest, "files" | "shape" | "channels">;
type Channels = 1 | 3 | 4;

/** The meaning of a numeric input's dimensions. */
interface PixelLayout {
  readonly isChannelsFirst: boolean;
  readonly height: number | undefined;
  readonly width: number | undefined;
  readonly channels: Channels | undefined;
}

/**
 * Decodes a form's files into the pixels of one numeric input: grey, RGB or RGBA from 0 to 255, each image in the
 * input's size, all in the form's shape where it has one. Throws `invalid_argument` for what is not an image, and for
 * images that do not fit together.
 */
export async function decodeImages(
  { files, shape, channels: wanted = 3 }: Images,
  spec: TensorSpec,
  { signal, memory }: CallOptions,
): Promise<Tensor> {
  const layout = layoutOf(spec);
  const { height, width, channels = wanted, isChannelsFirst } = layout;
  const size = { ...(height !== undefined && { height }), ...(width !== undefined && { width }) };
  const pixels: ImageTensor[] = [];
  for (const [index, file] of files.entries()) {
    const options = { ...size, channels, exif: false, ...(signal && { signal: toAbortSignal(signal) }) };
    pixels.push(await decodeImage(file, options).catch((reason) => refuse(reason, index)));
  }
  const finalShape = shape ?? naturalShape(pixels, spec, isChannelsFirst);
  checkCount(pixels, finalShape);
  const scratchBytes = SCRATCH_BYTES * elementCount(finalShape);
  const options = { transfer: "owned" as const, signal, memory, scratchBytes };
  return codecs.run(assemblePixelsJob, [pixels, { isChannelsFirst, shape: finalShape, dtype: spec.dtype }], options);
}

/** Memory for a value while it is put together and converted. */
const SCRATCH_BYTES = 9;

function refuse(reason: unknown, index: number): never {
  throw invalidArgument(`File ${index + 1} of the form: ${publicText(reason)}`, reason);
}

const CHANNELS: readonly Dimension[] = [1, 3, 4];

/** The channels are the last dimension unless only the second one can be. */
function layoutOf({ shape, imageLayout }: TensorSpec): PixelLayout {
  if (shape?.length !== 4) return { isChannelsFirst: false, height: undefined, width: undefined, channels: undefined };
  const [, second = -1, third = -1, last = -1] = shape;
  const isFirst =
    imageLayout === undefined ? !CHANNELS.includes(last) && CHANNELS.includes(second) : imageLayout === "NCHW";
  const [height, width, channels] = isFirst ? [third, last, second] : [second, third, last];
  const isKnown = CHANNELS.includes(channels);
  return {
    isChannelsFirst: isFirst,
    height: sideOf(height),
    width: sideOf(width),
    channels: isKnown ? (channels as Channels) : undefined,
  };
}

function sideOf(dimension: Dimension): number | undefined {
  return typeof dimension === "number" && dimension > 0 ? dimension : undefined;
}

function naturalShape(pixels: readonly ImageTensor[], { name, shape }: TensorSpec, isChannelsFirst: boolean) {
  if (shape !== undefined && shape.length !== 4) {
    const known = shape.map(toSize).join(",");
    throw invalidArgument(
      `The input '${name}' has the shape ${known}, not that of images; send the field shape too, such as -F shape=1,784.`,
    );
  }
  const [height = 0, width = 0, channels = 0] = (pixels[0] as ImageTensor).shape;
  const rest = isChannelsFirst ? [channels, height, width] : [height, width, channels];
  return [pixels.length, ...rest];
}

function checkCount(pixels: readonly ImageTensor[], shape: readonly number[]): void {
  const sizes = [...new Set(pixels.map((each) => each.shape.join(" x ")))];
  const count = pixels.reduce((sum, { data }) => sum + data.length, 0);
  if (sizes.length > 1)
    throw invalidArgument(
      `The images have different sizes (${sizes.slice(0, 3).join(", ")}); the input takes equal ones.`,
    );
  if (count === elementCount(shape)) return;
  throw invalidArgument(
    `${pixels.length} images of ${sizes[0]} are ${count} values; the shape ${shape.join(",")} has ${elementCount(shape)}.`,
  );
}
