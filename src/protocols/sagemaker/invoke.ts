import type { IncomingMessage } from "node:http";
import { invalidArgument, ServingError } from "../../errors.ts";
import { isLargeText, LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { HttpError } from "../../proxy/http-errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import { acceptedParts, LINES, type PartForm } from "../../proxy/part-form.ts";
import type { InferenceService, InferResponse, ModelRef } from "../../serving/inference-service.ts";
import { requireSignature } from "../../serving/require-signature.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import type { CsvColumn } from "../../tensor/codecs/csv-to-json-rows.ts";
import { readNpy } from "../../tensor/codecs/npy.ts";
import type { Signature } from "../../tensor/signature/signature.ts";
import { createTensor, createTensors, type Tensor } from "../../tensor/tensor.ts";
import { answeredTensors } from "../answered-tensors.ts";
import { csvColumns } from "../csv-columns.ts";
import { errorOfNamedRows } from "../data-frames.ts";
import { toRawInput } from "../kserve/raw-input.ts";
import { answerExamples } from "../tensorflow-serving/examples/http-examples.ts";
import {
  answerPredict,
  answerPredictedParts,
  type Predicted,
  type PredictRequest,
  toPredictions,
  type WritePredicted,
} from "../tensorflow-serving/http-predict.ts";
import { versionHeaders } from "../tensorflow-serving/http-response.ts";
import { answerByHandlers, type HandlerDependencies } from "./answer-by-handlers.ts";
import { type CustomAttributes, readCustomAttributes } from "./custom-attributes.ts";
import {
  type ArrayForm,
  type BodyForm,
  bodyForm,
  eachWithoutLineBreaks,
  toPredictBody,
  toPredictBodyJob,
  withoutLineBreaks,
  withoutLineBreaksJob,
  writeArray,
  writeArrayJob,
} from "./http-codec.ts";
import { errorOfLine } from "./json-lines.ts";

/**
 * Answers `POST /invocations`, whose body is JSON, lines of JSON, CSV, or one image, array or file for a model with one
 * input; the answer is JSON, or the first output as CSV or an array. Where the model has handlers (`inference.ts`),
 * they answer any type. `named` = the model of the URL. Throws 415 for any other type of body, and 406 for one of the
 * answer.
 */
export async function invoke(
  exchange: HttpExchange,
  dependencies: HandlerDependencies,
  named = "",
): Promise<HttpAnswer> {
  const { service } = dependencies;
  const { headers } = exchange.request;
  const attributes = readCustomAttributes(headers["x-amzn-sagemaker-custom-attributes"]);
  const ref = toRef(service, named === "" ? attributes : { ...attributes, model: named });
  exchange.record.model = ref.model;
  const handled = await answerByHandlers(exchange, { ref, attributes, named }, dependencies);
  if (handled !== undefined) return handled;
  const mediaType = exchange.mediaType === "" ? "application/json" : exchange.mediaType;
  const form = bodyForm(mediaType);
  if (form === undefined && !isEncodedType(mediaType)) throw new HttpError(415, `Unsupported Media Type: ${mediaType}`);
  const accepted = acceptedAnswer(exchange.request, attributes.method);
  const write = accepted.array && arrayAnswer(accepted.array, accepted.contentType);
  const body = await exchange.readBody();
  const request = { ref, write, inParts: accepted.inParts };
  if (form === undefined)
    return inForm(await answerEncoded(service, { ...request, body, mediaType }, exchange), accepted, exchange);
  if (form === "csv" && attributes.method === "predict") {
    const convert = async (description: ServableDescription) =>
      (await toJson(body, [form, csvColumns(description)], exchange)).json;
    const explain: PredictRequest["explain"] = (reason, known) => errorOfNamedRows(reason, known, { isCsv: true });
    const csv = { ...request, body, convert, explain, form: { isCsv: true } };
    return inForm(await answerPredict(service, csv, exchange), accepted, exchange);
  }
  const { json, places, isFrame, before = 0 } = await toJson(body, [form], exchange);
  const plain = {
    ...request,
    ...(isFrame && write === undefined && { write: firstPredictions }),
    ...(isFrame && { explain: errorOfNamedRows }),
    ...(isFrame && { writePart: (part: Predicted) => toPredictions({ ...part, format: "row" }, exchange, true) }),
    method: attributes.method,
    body: json,
    form: { before },
  };
  try {
    return inForm(await answerJson(service, plain, exchange), accepted, exchange);
  } catch (reason) {
    throw places === undefined ? reason : errorOfLine(reason, places);
  }
}

type TextForm = readonly [form: BodyForm, columns?: readonly CsvColumn[] | undefined];

async function toJson(body: Buffer, [form, columns]: TextForm, exchange: HttpExchange) {
  const { maxMessageBytes } = exchange;
  const { json, ...rest } =
    body.length > LARGE_MESSAGE_BYTES
      ? await exchange.decode(toPredictBodyJob, [body, form, maxMessageBytes, columns], body)
      : toPredictBody(body, form, maxMessageBytes, columns);
  return { json: Buffer.from(json.buffer, json.byteOffset, json.byteLength), ...rest };
}

function answerJson(
  service: InferenceService,
  { method, ...request }: PredictRequest & Pick<CustomAttributes, "method">,
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  return method === "predict"
    ? answerPredict(service, request, exchange)
    : answerExamples(service, { ...request, method }, exchange);
}

/** Without a name the first of several models is asked, as in the container. */
function toRef(service: InferenceService, { model, version }: CustomAttributes): ModelRef {
  const name = model === "" ? (service.index()[0]?.model ?? "") : model;
  return version === undefined ? { model: name } : { model: name, version };
}

async function inForm(
  answer: HttpAnswer,
  { contentType, isNamed, array }: AcceptedType,
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  const { body, stream } = answer;
  if (!isNamed || array !== undefined || stream?.inParts) return answer;
  const isLarge = body.length > LARGE_MESSAGE_BYTES;
  const line = isLarge ? await exchange.encode(withoutLineBreaksJob, [body]) : withoutLineBreaks(body);
  const rest = stream && { ...stream, parts: eachWithoutLineBreaks(stream.parts) };
  return { ...answer, contentType, body: line, stream: rest };
}

const JSON_TYPES: ReadonlySet<string> = new Set(["application/json", "application/jsonlines"]);
/** Types of an answer that is one array, and their forms. */
const ARRAYS = { "text/csv": "csv", "application/x-npy": "npy" } as const satisfies Readonly<Record<string, ArrayForm>>;
const ANY_TYPE: ReadonlySet<string> = new Set(["*/*", "application/*"]);

/** Form of an answer that a client asked for. */
interface AcceptedType {
  readonly contentType: string;
  /** True if the client named a type: the container's JSON has no line breaks then. */
  readonly isNamed: boolean;
  /** The form of an answer that is one array; absent = JSON. */
  readonly array?: ArrayForm;
  /** Absent = there is one answer. */
  readonly inParts?: PredictRequest["inParts"];
}

/** Lines of JSON as SageMaker's own containers send them to `InvokeEndpointWithResponseStream`. */
const JSON_LINES: PartForm = { ...LINES, contentType: "application/jsonlines" };

/**
 * {@link acceptedType}, with the parts of an answer that is not named: events or lines if the client prefers these, and
 * lines of a model that answers in parts unless it names a type that lines are not. Only predictions have parts.
 */
function acceptedAnswer(request: IncomingMessage, method: string): AcceptedType {
  const { accept } = request.headers;
  const inParts = method === "predict" ? acceptedParts(request) : undefined;
  if (inParts !== undefined && !inParts.orAnswer) return { contentType: "application/json", isNamed: false, inParts };
  const type = acceptedType(accept, method);
  if (inParts !== undefined) return { ...type, inParts };
  const isLines = method === "predict" && (!type.isNamed || type.contentType === JSON_LINES.contentType);
  return isLines ? { ...type, inParts: ({ decoupled }) => (decoupled ? { form: JSON_LINES } : undefined) } : type;
}

/**
 * Chooses the answer's type by the header `Accept`: JSON if that is named; only predictions can be arrays. Throws
 * 406 if it leaves no type that an answer can have.
 */
export function acceptedType(header = "", method = "predict"): AcceptedType {
  const types = header.split(",").flatMap((entry) => {
    const [type = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase());
    return type === "" || parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter)) ? [] : [type];
  });
  const json = types.find((type) => JSON_TYPES.has(type));
  if (json !== undefined) return { contentType: json, isNamed: true };
  const isArray = (type: string): type is keyof typeof ARRAYS => method === "predict" && Object.hasOwn(ARRAYS, type);
  const array = types.find(isArray);
  if (array !== undefined) return { contentType: array, isNamed: true, array: ARRAYS[array] };
  if (types.length === 0 || types.some((type) => ANY_TYPE.has(type))) {
    return { contentType: "application/json", isNamed: false };
  }
  const known = [...JSON_TYPES, ...(method === "predict" ? Object.keys(ARRAYS) : [])];
  throw new HttpError(406, `Not Acceptable: ${header}; answers are ${known.join(", ")}.`);
}

const NPY = "application/x-npy";
const ENCODED_TYPES: ReadonlySet<string> = new Set([NPY, "application/x-image", "application/octet-stream"]);

/** Checks if a body of this media type is the one input of a model: an array, an image, or a file. */
function isEncodedType(mediaType: string): boolean {
  return ENCODED_TYPES.has(mediaType) || mediaType.startsWith("image/");
}

/** A body that is the one input of a model. */
interface EncodedRequest {
  readonly ref: ModelRef;
  readonly body: Buffer;
  readonly mediaType: string;
  /** Writes the answer. Default: as `:predict` does. */
  readonly write?: WritePredicted | undefined;
  readonly inParts?: PredictRequest["inParts"];
}

/**
 * Runs a model whose one input is the body. Throws
 * `invalid_argument` for a model with several inputs.
 */
async function answerEncoded(
  service: InferenceService,
  { ref, body, mediaType, write = toPredictions, inParts }: EncodedRequest,
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  const call = exchange.callInfo();
  const lease = await service.acquire(ref, call);
  const run = async (send?: (part: Predicted) => Promise<void>): Promise<Predicted> => {
    try {
      const array = mediaType === NPY ? readNpy(body) : undefined;
      const used = array && { inputs: [], isUnnamedNumbers: array.dtype !== "bytes" };
      const signature = requireSignature("", lease.description, used);
      const budget = new DecodeBudget(exchange.maxMessageBytes);
      const input = toInput(signature.spec, { body, array, mediaType, model: lease.description.model, budget });
      const inputs = { kind: "tensors" as const, tensors: createTensors([input]) };
      const parts = send && { write: (answer: InferResponse) => send({ signature, format: "row", answer }) };
      return { signature, format: "row", answer: await lease.infer({ signature, inputs, parts, call }) };
    } finally {
      lease.release();
    }
  };
  const choice = typeof inParts === "function" ? inParts(lease.description) : inParts;
  if (choice === undefined) return write(await run(), exchange);
  return answerPredictedParts(choice, { run, write }, exchange);
}

interface EncodedInput {
  readonly body: Buffer;
  /** The body if it is an array. */
  readonly array: Tensor | undefined;
  readonly mediaType: string;
  readonly model: string;
  readonly budget: DecodeBudget;
}

/**
 * The only input and its tensor. If the model does not report its inputs, hooks get the bytes under the name that
 * TensorFlow Serving has for one without.
 */
function toInput(
  { inputs: specs, inputNames }: Signature = {},
  { body, array, mediaType, model, budget }: EncodedInput,
): readonly [name: string, tensor: Tensor] {
  const names = specs?.map(({ name }) => name) ?? inputNames ?? ["inputs"];
  if (names.length !== 1) {
    throw invalidArgument(
      `A body of type ${mediaType} is one tensor, but the model takes ${names.length}: ${names.join(", ")}. Send JSON.`,
    );
  }
  const name = names[0]!;
  if (array !== undefined) return [name, array];
  return specs === undefined ? [name, createTensor("bytes", [1], [body])] : toRawInput(specs, body, { model, budget });
}

/** Writes the first output as the predictions: a model of MLflow has one, which its clients expect without a name. */
const firstPredictions: WritePredicted = (predicted, exchange) => {
  const [name, tensor] = firstOutput(predicted);
  const outputs = { kind: "tensors" as const, tensors: createTensors([[name, tensor]]) };
  return toPredictions({ ...predicted, format: "row", answer: { ...predicted.answer, outputs } }, exchange);
};

function firstOutput({ signature, answer }: Predicted): readonly [name: string, tensor: Tensor] {
  const outputs = answeredTensors(answer);
  const name = signature.spec?.outputs?.[0]?.name ?? "";
  const first = name in outputs ? ([name, outputs[name]!] as const) : Object.entries(outputs)[0];
  if (first === undefined) throw new ServingError("internal", "The model gave no output.");
  return first;
}

/** Writes the first output of a model as an array of this form. */
function arrayAnswer(form: ArrayForm, contentType: string): WritePredicted {
  return async (predicted, exchange) => {
    const { answer } = predicted;
    const [, tensor] = firstOutput(predicted);
    const body = isLargeText([tensor])
      ? await exchange.encode(writeArrayJob, [tensor, form])
      : writeArray(tensor, form);
    return { contentType, body, ...versionHeaders(answer) };
  };
}
