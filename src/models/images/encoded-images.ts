import { ServingError } from "../../errors.ts";
import type { CancelSignal } from "../../platform/async/cancel-source.ts";
import { imageFormat } from "../../tensor/media/image-format.ts";
import { checkPixels } from "../../tensor/media/image-tensor.ts";
import { type PixelHeader, readPixelHeader } from "../../tensor/media/pixel-header.ts";
import type { TensorSpec } from "../../tensor/signature/signature.ts";
import { imageRefused } from "./image-refused.ts";

/**
 * Pixels that all images of one input may have together, as they come and as the model
 * gets them; their memory is limited too.
 */
export const MAX_PIXELS = 100_000_000;
/** As many as there are threads that decode. */
export const AT_ONCE = 4;

/** An image whose header was read. */
export interface EncodedImage {
  readonly bytes: Uint8Array;
  readonly header: PixelHeader;
}

/** Reads all headers, before a pixel of any image is decoded. */
export function readHeaders(
  elements: readonly Uint8Array[],
  spec: TensorSpec,
  signal: CancelSignal | undefined,
): Promise<EncodedImage[]> {
  let left = MAX_PIXELS;
  return inBatches(elements, signal, async (element) => {
    if (element.length === 0) throw imageRefused("Bytes contents is empty", "Expected an encoded image", spec);
    const bytes = fromBase64(element) ?? element;
    const header = await namingInput(spec, () => readPixelHeader(bytes));
    await namingInput(spec, async () => checkPixels("The image", header, left));
    left -= header.width * header.height;
    return { bytes, header };
  });
}

/** Works on a few at a time, as long as the client waits for them. */
export async function inBatches<From, To>(
  all: readonly From[],
  signal: CancelSignal | undefined,
  work: (one: From) => Promise<To>,
): Promise<To[]> {
  const results: To[] = [];
  for (let start = 0; start < all.length; start += AT_ONCE) {
    signal?.throwIfAborted();
    results.push(...(await Promise.all(all.slice(start, start + AT_ONCE).map(work))));
  }
  return results;
}

/** Adds the name of the input to errors of the work. */
export async function namingInput<Result>({ name }: TensorSpec, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (reason) {
    const { code, message } = ServingError.from(reason);
    throw new ServingError(code, `${message}; input name: ${name}`, { cause: reason });
  }
}

const BASE64 = /^[A-Za-z0-9+/\s]+={0,2}\s*$/;
/** Number of a text's characters that suffice to recognise base64. */
const PROBE_BYTES = 64;

/** The image in a text of base64, as JSON clients write it; undefined for anything else. */
function fromBase64(element: Uint8Array): Uint8Array | undefined {
  if (imageFormat(element) !== undefined) return undefined;
  const buffer = Buffer.from(element.buffer, element.byteOffset, element.byteLength);
  if (!BASE64.test(buffer.toString("latin1", 0, PROBE_BYTES))) return undefined;
  const decoded = Buffer.from(buffer.toString("latin1"), "base64");
  return imageFormat(decoded) === undefined ? undefined : decoded;
}
