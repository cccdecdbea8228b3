import { invalidArgument, publicText } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { convertTensor } from "../../tensor/convert-tensor.ts";
import type { ImageTensor } from "../../tensor/media/image-tensor.ts";
import type { TensorSpec } from "../../tensor/signature/signature.ts";
import { createTensor, elementCount, MAX_RANK, type Tensor } from "../../tensor/tensor.ts";
import { type Form, splitForm } from "../split-form.ts";
import { type InferenceHead, readHead } from "./http-codec.ts";

/** A request as a form. */
export interface FormRequest {
  readonly head: InferenceHead;
  /** The files of `image`, then those of `images`; one at least. */
  readonly files: readonly Uint8Array[];
  /** Shape that decoded images get, such as [1, 784]; absent = the input's. */
  readonly shape?: readonly number[];
  /** Channels of decoded images if the input leaves them open. Default 3. */
  readonly channels?: 1 | 3 | 4;
}

/**
 * Parses a form; `contentType` is the header, which has the boundary. Throws
 * `invalid_argument` with the original's beginning.
 */
export async function parseForm(body: Uint8Array, contentType: string): Promise<FormRequest> {
  try {
    return toRequest(await splitForm(body, contentType));
  } catch (reason) {
    throw invalidArgument(`Invalid form-data: ${publicText(reason)}`, reason);
  }
}

/** {@link parseForm} for a codec thread. */
export const parseFormJob = defineJob(import.meta.url, "parseFormJob", parseForm);

function toRequest({ texts, files }: Form): FormRequest {
  const text = (name: string) => texts.get(name)?.[0];
  const images = [...(files.get("image") ?? []), ...(files.get("images") ?? [])];
  if (images.length === 0) {
    throw invalidArgument(
      "there is no file in the field image or images; send one, for example curl -F image=@photo.jpg",
    );
  }
  const [shape, layout] = [text("shape"), text("channel_layout")];
  return {
    head: readHead(text),
    files: images,
    ...(shape !== undefined && { shape: readShape(shape) }),
    ...(layout !== undefined && { channels: channelsOf(layout) }),
  };
}

function readShape(text: string): readonly number[] {
  const sizes = text.split(",", MAX_RANK + 1).map((size) => (/^\s*\d{1,9}\s*$/.test(size) ? Number(size) : 0));
  if (sizes.length <= MAX_RANK && sizes.every((size) => size > 0)) return sizes;
  throw invalidArgument(`shape is "${text.slice(0, 100)}"; expected sizes such as 1,32,32,3`);
}

const CHANNELS = { L: 1, RGB: 3, RGBA: 4 } as const;

function channelsOf(layout: string): 1 | 3 | 4 {
  if (Object.hasOwn(CHANNELS, layout)) return CHANNELS[layout as keyof typeof CHANNELS];
  throw invalidArgument(`channel_layout is "${layout}"; expected ${Object.keys(CHANNELS).join(", ")}`);
}

/** Files as a tensor of URL-safe base64 texts, with their padding, as Python writes it. */
export function encodeFiles(files: readonly Uint8Array[], maxBytes: number): Tensor {
  const budget = new DecodeBudget(maxBytes);
  const texts = files.map((file) => {
    const length = Math.ceil(file.length / 3) * 4;
    budget.spend(length, () => "A file as base64");
    const text = Buffer.from(file.buffer, file.byteOffset, file.byteLength).toString("base64url");
    return Buffer.from(text.padEnd(length, "="), "latin1");
  });
  return createTensor("bytes", [texts.length], texts);
}

/** {@link encodeFiles} for a codec thread. */
export const encodeFilesJob = defineJob(import.meta.url, "encodeFilesJob", encodeFiles);

/** The form in which a model takes pixels. */
interface PixelForm extends Pick<TensorSpec, "dtype"> {
  readonly isChannelsFirst: boolean;
  readonly shape: readonly number[];
}

function assemblePixels(pixels: readonly Tensor[], { isChannelsFirst, shape, dtype }: PixelForm): Tensor {
  const data = new Uint8Array(elementCount(shape));
  let at = 0;
  for (const image of pixels as readonly ImageTensor[]) {
    data.set(isChannelsFirst ? toPlanes(image) : image.data, at);
    at += image.data.length;
  }
  return convertTensor(createTensor("uint8", shape, data), dtype);
}

/** Images as one tensor of a shape and a dtype, for a codec thread. */
export const assemblePixelsJob = defineJob(import.meta.url, "assemblePixelsJob", assemblePixels);

function toPlanes({ data, shape }: ImageTensor): Uint8Array {
  const channels = shape[2] ?? 1;
  const count = data.length / channels;
  const planes = new Uint8Array(data.length);
  for (let channel = 0; channel < channels; channel++) {
    for (let pixel = 0; pixel < count; pixel++) planes[channel * count + pixel] = data[pixel * channels + channel]!;
  }
  return planes;
}
