import { invalidArgument, publicText } from "../../errors.ts";
import { toAbortSignal } from "../../platform/async/cancel-source.ts";
import { codecs } from "../../platform/codec-host/codec-pool.ts";
import { isLargeText, LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import type { CallOptions, InferenceService, InferResponse } from "../../serving/inference-service.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import { decodeImage } from "../../tensor/media/decode-image.ts";
import type { ImageTensor } from "../../tensor/media/image-tensor.ts";
import { type ChosenSignature, chooseSignature, toPlainSignature } from "../../tensor/signature/choose-signature.ts";
import {
  type Dimension,
  knownInputs,
  type Signature,
  type TensorSpec,
  toSize,
} from "../../tensor/signature/signature.ts";
import { createTensors, elementCount, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { answeredTensors } from "../answered-tensors.ts";
import { versionHeaders } from "../tensorflow-serving/http-response.ts";
import {
  assemblePixelsJob,
  encodeFiles,
  encodeFilesJob,
  type FormRequest,
  parseForm,
  parseFormJob,
} from "./form-request.ts";
import {
  type InferenceHead,
  parseJsonRequest,
  readHeadJob,
  readTensors,
  readTensorsJob,
  writeOutputs,
  writeOutputsJob,
} from "./http-codec.ts";

/** A request of which the choices are known, and not yet the model. */
interface ReadRequest {
  readonly head: InferenceHead;
  /** The tensors for a signature. */
  readonly tensors: (signature: ChosenSignature) => Tensors | Promise<Tensors>;
}

/**
 * Answers `POST /`: JSON or a form in, an object of outputs out. Throws `invalid_argument`, as the original answers 400
 * to whatever a client does wrong.
 */
export async function answerInference(service: InferenceService, exchange: HttpExchange): Promise<HttpAnswer> {
  const { head, tensors } = await readRequest(exchange);
  const { version } = head;
  const model = chooseModel(service, head.model);
  exchange.record.model = model;
  const call = exchange.callInfo();
  const lease = await service.acquire({ model, version }, call);
  try {
    const signature = findSignature(head, lease.description);
    const inputs = await tensors(signature);
    const answer = await lease.infer({ signature, inputs: { kind: "tensors", tensors: inputs }, call });
    return await toOutputsAnswer(answer, exchange);
  } finally {
    lease.release();
  }
}

/** The model of a request that names none. */
const DEFAULT_MODEL = "default";
/** Names that an error lists. */
const MAX_NAMES = 20;

/**
 * The model that a request means: the one that it names, else `default`, or the only one. Throws `invalid_argument`
 * with the original's text for a model that is not served; if another server answers, that one decides.
 */
function chooseModel(service: InferenceService, name: string | undefined): string {
  const served = [...new Set(service.index().map(({ model }) => model))];
  if (name === undefined && served.length <= 1) return "";
  const model = name ?? DEFAULT_MODEL;
  if (served.length === 0 || served.includes(model)) return model;
  const names = served.slice(0, MAX_NAMES).map((each) => `'${each}'`);
  throw invalidArgument(`Invalid model name: ${model}, available models: [${names.join(", ")}]`);
}

function findSignature(head: InferenceHead, { signatures }: ServableDescription): ChosenSignature {
  const { signature: name, inputs } = head;
  const chosen = chooseSignature(name, signatures, inputs && { inputs });
  if (chosen !== undefined) return chosen;
  throw invalidArgument(`Fail to request the signature name: ${name}, please check the request JSON`);
}

function readRequest(exchange: HttpExchange): Promise<ReadRequest> {
  if (exchange.mediaType === "application/json") return readJson(exchange);
  if (exchange.mediaType === "multipart/form-data") return readMultipart(exchange);
  throw invalidArgument("Error, unsupported content type");
}

async function readJson(exchange: HttpExchange): Promise<ReadRequest> {
  const body = await exchange.readBody();
  const { maxMessageBytes: maxBytes } = exchange;
  if (body.length <= LARGE_MESSAGE_BYTES) {
    const request = parseJsonRequest(body, maxBytes);
    return {
      head: request.head,
      tensors: (signature) => readTensors(request, signature.spec ?? {}, encodedInput(signature)),
    };
  }
  const { head, body: returned } = await exchange.decode(readHeadJob, [body, maxBytes], body);
  const tensors = (signature: ChosenSignature) => {
    const known = toPlainSignature(signature.spec ?? {});
    return exchange.decode(readTensorsJob, [returned, known, encodedInput(signature), maxBytes], returned);
  };
  return { head, tensors };
}

/** The tensor of estimators that the original decodes if a request says `base64_decode`. */
const EXAMPLE_TENSOR = "input_example_tensor:0";

function encodedInput({ spec }: ChosenSignature): string | undefined {
  return spec?.inputs?.find(({ nativeName }) => nativeName === EXAMPLE_TENSOR)?.name;
}

/** An object with a value for each output, written in a codec thread if it is large. */
async function toOutputsAnswer(response: InferResponse, exchange: HttpExchange): Promise<HttpAnswer> {
  const outputs = answeredTensors(response);
  const isLarge = isLargeText(Object.values(outputs));
  const body = isLarge ? await exchange.encode(writeOutputsJob, [outputs]) : writeOutputs(outputs);
  return { contentType: "application/json", body, ...versionHeaders(response) };
}

async function readMultipart(exchange: HttpExchange): Promise<ReadRequest> {
  const { "content-type": type = "" } = exchange.request.headers;
  const body = await exchange.readBody();
  const isLarge = body.length > LARGE_MESSAGE_BYTES;
  const form = isLarge ? await exchange.decode(parseFormJob, [body, type], body) : await parseForm(body, type);
  const tensors = ({ spec }: ChosenSignature) => readFormTensors(form, spec ?? {}, exchange);
  return { head: form.head, tensors };
}

/** Names of the input that the original gives a form's files to; the second one is that of its older versions. */
const INPUTS = ["images", "image"];

/**
 * The one input that a form's files are: URL-safe base64 of each if it takes strings, or is not described; their
 * pixels if it takes numbers. Throws `invalid_argument` if the model has several inputs and none of the names.
 */
async function readFormTensors(form: FormRequest, known: Signature, exchange: HttpExchange): Promise<Tensors> {
  const target = targetOf(known);
  const isText = typeof target === "string" || target.dtype === "bytes";
  const tensor = isText ? await toTexts(form.files, exchange) : await decodeImages(form, target, exchange.callInfo());
  return createTensors([[typeof target === "string" ? target : target.name, tensor]]);
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

/** Memory for a value while it is put together and converted. */
const SCRATCH_BYTES = 9;

/** The meaning of a numeric input's dimensions. */
interface PixelLayout {
  readonly isChannelsFirst: boolean;
  readonly height: number | undefined;
  readonly width: number | undefined;
  readonly channels: Channels | undefined;
}

/**
 * Decodes a form's files into the pixels of one numeric input: grey, RGB or RGBA from 0 to 255, each image in the
 * input's size, all in the form's shape if it has one. Throws `invalid_argument` for a file that is not an image, and
 * for images that do not fit together.
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
