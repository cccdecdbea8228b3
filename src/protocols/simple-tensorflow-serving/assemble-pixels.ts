import { defineJob } from "../../codec-host/job.ts";
import type { ImageTensor } from "../../media/image-tensor.ts";
import type { TensorSpec } from "../../signature/signature.ts";
import { convertTensor } from "../../tensor/convert-tensor.ts";
import { createTensor, elementCount, type Tensor } from "../../tensor/tensor.ts";

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
