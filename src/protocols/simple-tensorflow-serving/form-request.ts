import { defineJob } from "../../codec-host/job.ts";
import { invalidArgument, publicText } from "../../errors.ts";
import { MAX_RANK } from "../../tensor/tensor.ts";
import { type Form, splitForm } from "../split-form.ts";
import { type InferenceHead, readHead } from "./inference-head.ts";

/** A request as a form. */
export interface FormRequest {
  readonly head: InferenceHead;
  /** The files of `image`, then those of `images`; one at least. */
  readonly files: readonly Uint8Array[];
  /** Shape that decoded images get, such as [1, 784]; absent = the input's. */
  readonly shape?: readonly number[];
  /** Channels of decoded images where the input leaves them open. Default 3. */
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
