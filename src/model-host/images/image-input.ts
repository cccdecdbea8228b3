import { ServingError } from "../../errors.ts";
import { type DecodePixelsOptions, decodePixels, type Pixels } from "../../media/decode-pixels.ts";
import { imageFormat } from "../../media/image-format.ts";
import { checkPixels, type Size } from "../../media/image-size.ts";
import { type ImageTensor, imageShape, isPixels } from "../../media/image-tensor.ts";
import { fitsDimension } from "../../signature/fits-shape.ts";
import type { TensorSpec } from "../../signature/signature.ts";
import { takesPictures } from "../../signature/takes-pictures.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { drawImages } from "./draw-images.ts";
import { type ImageLayout, imageLayout, targetSize } from "./image-layout.ts";
import type { ImageChoices } from "./image-options.ts";

/** Pixels that all pictures of one input may have together, as they come and as the model gets them: that is 300 MB as RGB, 1.2 GB as floats. */
const MAX_PIXELS = 100_000_000;
/** As many as there are threads that decode. */
const AT_ONCE = 4;

/** {@link decodeImageInputs}, or the same done elsewhere. */
export type DrawInputs = typeof decodeImageInputs;

/**
 * Decodes the pictures among a model's inputs: wherever a numeric input of rank 4 received a `bytes` tensor. All other inputs
 * pass as they are. Order, rounding and texts are those of OpenVINO Model Server: decoded as the file has it, BGR, converted to
 * the input's dtype (values stay 0 to 255, and saturate), then resized. Throws `invalid_argument` naming the input.
 */
export async function decodeImageInputs(
  inputs: Tensors,
  specs: readonly TensorSpec[],
  choices: ImageChoices,
): Promise<Tensors> {
  const decoded = createTensors(Object.entries(inputs));
  for (const spec of specs) {
    const tensor = inputs[spec.name];
    if (isImage(tensor, spec, choices)) decoded[spec.name] = await decodeInput(tensor, spec, choices);
  }
  return decoded;
}

/** Whether there is anything for {@link decodeImageInputs} to do. */
export function hasImages(inputs: Tensors, specs: readonly TensorSpec[], choices: ImageChoices): boolean {
  return specs.some((spec) => isImage(inputs[spec.name], spec, choices));
}

/** Encoded pictures, or the pixels of one. */
type Pictures = Tensor<"bytes"> | ImageTensor;

/** Whether a tensor holds pictures for an input that takes numbers: encoded ones, and what `decodeImage` returned where a hook gives it. */
export function isImage(
  tensor: Tensor | undefined,
  spec: TensorSpec,
  { fromHook = false }: Pick<ImageChoices, "fromHook">,
): tensor is Pictures {
  if (tensor === undefined || !takesPictures(spec)) return false;
  return tensor.dtype === "bytes" || (fromHook && isPixels(tensor));
}

async function decodeInput(tensor: Pictures, spec: TensorSpec, choices: ImageChoices): Promise<Tensor> {
  const layout = imageLayout(spec, choices);
  const pictures =
    tensor.dtype === "bytes"
      ? await decodeBytes(tensor, layout, spec, choices)
      : [{ ...imageShape(tensor), data: tensor.data }];
  checkBatch(pictures.length, layout, spec);
  const size = targetSize(pictures, layout, spec);
  checkPixels(`The input ${spec.name}`, { width: size.width, height: size.height * pictures.length }, MAX_PIXELS);
  return drawImages({ spec, layout, size, pictures, choices });
}

function checkBatch(count: number, { batch }: ImageLayout, spec: TensorSpec): void {
  if (fitsDimension(count, batch)) return;
  throw refused("Invalid input batch size", `Expected: ${JSON.stringify(batch)}; Actual: ${count}`, spec);
}

/** A client sends a list of pictures; what a hook returns as a Buffer has rank 0. */
async function decodeBytes(
  { shape, data }: Tensor<"bytes">,
  layout: ImageLayout,
  spec: TensorSpec,
  choices: ImageChoices,
): Promise<Pixels[]> {
  const isOne = choices.fromHook === true && shape.length === 0;
  if (shape.length !== 1 && !isOne) {
    throw refused(
      "Invalid number of shape dimensions",
      `Expected number of input shape dimensions: 1; Actual: ${shape.length}`,
      spec,
    );
  }
  if (data.length === 0) throw refused("Invalid input batch size", "Expected: 1 or more; Actual: 0", spec);
  checkBatch(data.length, layout, spec);
  return decodeAll(data, spec, choices);
}

/** A few at a time, so that a request of many pictures takes no more memory than its share. */
async function decodeAll(elements: readonly Uint8Array[], spec: TensorSpec, { exif }: ImageChoices): Promise<Pixels[]> {
  const pictures: Pixels[] = [];
  let left = MAX_PIXELS;
  const onSize = (size: Size) => {
    checkPixels("The image", size, left);
    left -= size.width * size.height;
  };
  for (let start = 0; start < elements.length; start += AT_ONCE) {
    const some = elements.slice(start, start + AT_ONCE);
    const decoded = await Promise.all(some.map((element) => decodeElement(element, spec, { exif, onSize })));
    pictures.push(...decoded);
  }
  return pictures;
}

async function decodeElement(element: Uint8Array, spec: TensorSpec, options: DecodePixelsOptions): Promise<Pixels> {
  if (element.length === 0) throw refused("Bytes contents is empty", "Expected an encoded picture", spec);
  try {
    return await decodePixels(fromBase64(element) ?? element, options);
  } catch (reason) {
    const { message } = ServingError.from(reason);
    throw new ServingError("invalid_argument", `${message}; input name: ${spec.name}`, { cause: reason });
  }
}

const BASE64 = /^[A-Za-z0-9+/\s]+={0,2}\s*$/;
/** Enough of a text to tell that it is base64. */
const PROBE_BYTES = 64;

/** The picture in a text of base64, as JSON clients write it; undefined for anything else. */
function fromBase64(element: Uint8Array): Uint8Array | undefined {
  if (imageFormat(element) !== undefined) return undefined;
  const buffer = Buffer.from(element.buffer, element.byteOffset, element.byteLength);
  if (!BASE64.test(buffer.toString("latin1", 0, PROBE_BYTES))) return undefined;
  const decoded = Buffer.from(buffer.toString("latin1"), "base64");
  return imageFormat(decoded) === undefined ? undefined : decoded;
}

function refused(what: string, detail: string, { name }: TensorSpec): ServingError {
  return new ServingError("invalid_argument", `${what} - ${detail}; input name: ${name}`);
}
