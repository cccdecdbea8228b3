import { invalidArgument, publicText } from "../../errors.ts";
import { toAbortSignal } from "../../platform/async/cancel-source.ts";
import { codecs } from "../../platform/codec-host/codec-pool.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { CallOptions } from "../../serving/inference-service.ts";
import { decodeImage } from "../../tensor/media/decode-image.ts";
import type { ImageTensor } from "../../tensor/media/image-tensor.ts";
import {
  type Dimension,
  knownInputs,
  type Signature,
  type TensorSpec,
  toSize,
} from "../../tensor/signature/signature.ts";
import { createTensors, elementCount, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { assemblePixelsJob, encodeFiles, encodeFilesJob, type FormRequest } from "./form-request.ts";

/** Names of the input that the original gives a form's files to; the second one is that of its older versions. */
const INPUTS = ["images", "image"];

/**
 * The one input that a form's files are: URL-safe base64 of each if it takes strings, or is not described; their
 * pixels if it takes numbers. Throws `invalid_argument` where the model has several inputs and none of the names.
 */
export async function readFormTensors(form: FormRequest, known: Signature, exchange: HttpExchange): Promise<Tensors> {
  const target = targetOf(known);
  const isText = typeof target === "string" || target.dtype === "bytes";
  const tensor = isText ? await toTexts(form.files, exchange) : await decodeImages(form, target, exchange.callInfo());
  return createTensors([[isText ? nameOf(target) : target.name, tensor]]);
}

function nameOf(target: TensorSpec | string): string {
  return typeof target === "string" ? target : target.name;
}

/** The input's description, or its name alone. */
function targetOf(signature: Signature): TensorSpec | string {
  const names = knownInputs(signature)?.map(({ name }) => name);
  const only = names?.length === 1 ? names[0] : undefined;
  const name = INPUTS.find((each) => names?.includes(each)) ?? only ?? (names === undefined ? INPUTS[0] : undefined);
  if (name !== undefined) return signature.inputs?.find((spec) => spec.name === name) ?? name;
  const known = names?.map((each) => `'${each}'`).join(", ");
  throw invalidArgument(
    `Input op name 'images' does not exist in the model, which has ${known}; a form is for a model with one input, or one that is called images.`,
  );
}

async function toTexts(files: readonly Uint8Array[], exchange: HttpExchange): Promise<Tensor> {
  const { maxMessageBytes: maxBytes } = exchange;
  const bytes = files.reduce((sum, file) => sum + file.length, 0);
  return bytes > LARGE_MESSAGE_BYTES
    ? exchange.encode(encodeFilesJob, [files, maxBytes])
    : encodeFiles(files, maxBytes);
}

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
 * input's size, all in the form's shape if it has one. Throws `invalid_argument` for what is not an image, and for
 * images that do not fit together.
 */
async function decodeImages(
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
