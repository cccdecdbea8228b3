import { ServingError } from "../../errors.ts";
import type { CancelSignal } from "../../platform/async/cancel-source.ts";
import type { CallLimits } from "../../platform/limits/call-limits.ts";
import { reserveImages } from "../../platform/limits/memory/image-reservation.ts";
import { collectAll } from "../../platform/limits/memory/young-garbage.ts";
import { decodePixels, type Pixels } from "../../tensor/media/decode-pixels.ts";
import { imageFormat } from "../../tensor/media/image-format.ts";
import { checkPixels, type ImageTensor, imageShape, isPixels } from "../../tensor/media/image-tensor.ts";
import { type PixelHeader, readPixelHeader } from "../../tensor/media/pixel-header.ts";
import { fitsDimension, type TensorSpec, takesImages } from "../../tensor/signature/signature.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { type ImageLayout, imageLayout, largestTarget, type TargetSize, targetSize } from "./image-layout.ts";
import type { ImageChoices } from "./image-options.ts";
import { imageRefused } from "./image-refused.ts";
import { preprocessImages } from "./preprocess-images.ts";

/** Images of fewer bytes are garbage that V8 finds in time; more of them are worth looking for. */
const LARGE_BYTES = 32 * 1024 * 1024;
/**
 * Pixels that all images of one input may have together, as they come and as the model
 * gets them; their memory is limited too.
 */
const MAX_PIXELS = 100_000_000;
/** As many as there are threads that decode. */
const AT_ONCE = 4;
const BASE64 = /^[A-Za-z0-9+/\s]+={0,2}\s*$/;
/** Number of a text's characters that suffice to recognise base64. */
const PROBE_BYTES = 64;

/** The request that images are of: its limits tell if a hook gave them. */
export interface ImageCall {
  readonly limits?: CallLimits | undefined;
  readonly signal?: CancelSignal | undefined;
}

/** {@link decodeImageInputs}, or the same done elsewhere. */
export type PreprocessInputs = typeof decodeImageInputs;

/**
 * Decodes the images among a model's inputs: wherever a numeric input of rank 4 received a `bytes` tensor. All other
 * inputs pass as they are. Order, rounding and texts are those of OpenVINO Model Server: decoded as the file has it,
 * BGR, converted to the input's dtype (values stay 0 to 255, and saturate), then resized. Memory is reserved before a
 * pixel is decoded. Throws `invalid_argument` naming the input, `unavailable` if the images of others leave no
 * memory, and the signal's reason.
 */
export async function decodeImageInputs(
  inputs: Tensors,
  specs: readonly TensorSpec[],
  choices: ImageChoices,
  call: ImageCall = {},
): Promise<Tensors> {
  const decoded = createTensors(Object.entries(inputs));
  for (const spec of specs) {
    const tensor = inputs[spec.name];
    if (isImage(tensor, spec, call.limits)) decoded[spec.name] = await decodeInput(tensor, spec, { choices, call });
  }
  return decoded;
}

/** Checks if there is anything for {@link decodeImageInputs} to do. */
export function hasImages(inputs: Tensors, specs: readonly TensorSpec[], limits?: CallLimits): boolean {
  return specs.some((spec) => isImage(inputs[spec.name], spec, limits));
}

/** Encoded images, or the pixels of one. */
type Images = Tensor<"bytes"> | ImageTensor;

/**
 * Checks if a tensor holds images for an input that takes numbers: encoded ones, and results of `decodeImage` if a
 * hook passes them.
 */
export function isImage(
  tensor: Tensor | undefined,
  spec: TensorSpec,
  limits: CallLimits | undefined,
): tensor is Images {
  if (tensor === undefined || !takesImages(spec)) return false;
  return tensor.dtype === "bytes" || (limits?.fromHook === true && isPixels(tensor));
}

interface Decoding {
  readonly choices: ImageChoices;
  readonly call: ImageCall;
}

async function decodeInput(tensor: Images, spec: TensorSpec, { choices, call }: Decoding): Promise<Tensor> {
  const { limits, signal } = call;
  const layout = imageLayout(spec, choices);
  const preprocessing = { spec, layout, choices };
  if (tensor.dtype !== "bytes") {
    const image = { ...imageShape(tensor), data: tensor.data };
    return whileReserved(preprocessedBytes([image], preprocessing), signal, async () =>
      preprocess([image], preprocessing),
    );
  }
  checkElements(tensor, spec, { layout, limits });
  const images = await readHeaders(tensor.data, spec, signal);
  return whileReserved(decodedBytes(images, preprocessing), signal, async () => {
    const decode = ({ bytes, header }: EncodedImage) =>
      namingInput(spec, () => decodePixels(bytes, { exif: choices.exif, header }));
    return preprocess(await inBatches(images, signal, decode), preprocessing);
  });
}

/** A client sends a list of images; a Buffer from a hook has rank 0. */
function checkElements(
  { shape, data }: Tensor<"bytes">,
  spec: TensorSpec,
  { layout, limits }: Pick<Preprocessing, "layout"> & Pick<ImageCall, "limits">,
): void {
  const isOne = limits?.fromHook === true && shape.length === 0;
  if (shape.length !== 1 && !isOne) {
    throw imageRefused(
      "Invalid number of shape dimensions",
      `Expected number of input shape dimensions: 1; Actual: ${shape.length}`,
      spec,
    );
  }
  if (data.length === 0) throw imageRefused("Invalid input batch size", "Expected: 1 or more; Actual: 0", spec);
  checkBatch(data.length, layout, spec);
}

function checkBatch(count: number, { batch }: ImageLayout, spec: TensorSpec): void {
  if (fitsDimension(count, batch)) return;
  throw imageRefused("Invalid input batch size", `Expected: ${JSON.stringify(batch)}; Actual: ${count}`, spec);
}

interface Preprocessing {
  readonly spec: TensorSpec;
  readonly layout: ImageLayout;
  readonly choices: ImageChoices;
}

function preprocess(images: readonly Pixels[], { spec, layout, choices }: Preprocessing): Tensor {
  checkBatch(images.length, layout, spec);
  const size = targetSize(images, layout, spec);
  checkPixels(`The input ${spec.name}`, { width: size.width, height: size.height * images.length }, MAX_PIXELS);
  return preprocessImages({ spec, layout, size, images, choices });
}

async function whileReserved<Result>(
  bytes: number,
  signal: CancelSignal | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  const reserved = await reserveImages(bytes, signal);
  try {
    return await work();
  } finally {
    // Otherwise the pixels would still be in memory while the next images use the released room.
    if (bytes > LARGE_BYTES) collectAll();
    reserved.release();
  }
}

/** The pixels of all, what some decoders take at the same time, and what the model gets. */
function decodedBytes(images: readonly EncodedImage[], preprocessing: Preprocessing): number {
  const headers = images.map(({ header }) => header);
  const pixels = headers.reduce((sum, { pixelBytes }) => sum + pixelBytes, 0);
  // An image that is turned exists twice while that happens.
  const decoders = headers.map((header) => header.decoderBytes + (preprocessing.choices.exif ? header.pixelBytes : 0));
  const most = decoders.reduce((one, other) => Math.max(one, other), 0);
  return pixels + Math.min(AT_ONCE, images.length) * most + preprocessedBytes(headers, preprocessing);
}

/** Values are computed as floats, and then converted to the input's dtype. */
function preprocessedBytes(
  images: readonly (TargetSize & { readonly channels: number })[],
  { spec, layout }: Preprocessing,
): number {
  const channels = images.reduce((most, image) => Math.max(most, image.channels), 1);
  const values = Math.min(MAX_PIXELS, largestTarget(images, layout) * images.length) * channels;
  return values * (spec.dtype === "float64" ? 8 : spec.dtype === "float32" ? 4 : 6);
}

/** The limits of a model's run on values that no client sent: they tell if these may hold images. */
export function limitsFor(inputs: Tensors, limits: CallLimits | undefined): CallLimits | undefined {
  const fromHook = mayHoldImages(inputs) ? true : undefined;
  return limits?.fromHook === fromHook ? limits : { ...limits, fromHook };
}

/**
 * Checks if a hook's values may hold an image that only its origin distinguishes from other tensors: an image's pixels,
 * or one encoded image of rank 0.
 */
function mayHoldImages(tensors: Tensors): boolean {
  for (const name in tensors) {
    const tensor = tensors[name];
    if (tensor === undefined) continue;
    if (isPixels(tensor) || (tensor.dtype === "bytes" && tensor.shape.length === 0)) return true;
  }
  return false;
}

/** An image whose header was read. */
interface EncodedImage {
  readonly bytes: Uint8Array;
  readonly header: PixelHeader;
}

/** Reads all headers, before a pixel of any image is decoded. */
function readHeaders(
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
async function inBatches<From, To>(
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
async function namingInput<Result>({ name }: TensorSpec, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (reason) {
    const { code, message } = ServingError.from(reason);
    throw new ServingError(code, `${message}; input name: ${name}`, { cause: reason });
  }
}

/** The image in a text of base64, as JSON clients write it; undefined for anything else. */
function fromBase64(element: Uint8Array): Uint8Array | undefined {
  if (imageFormat(element) !== undefined) return undefined;
  const buffer = Buffer.from(element.buffer, element.byteOffset, element.byteLength);
  if (!BASE64.test(buffer.toString("latin1", 0, PROBE_BYTES))) return undefined;
  const decoded = Buffer.from(buffer.toString("latin1"), "base64");
  return imageFormat(decoded) === undefined ? undefined : decoded;
}
