import { invalidArgument } from "../../errors.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { answerInParts } from "../../proxy/answer-parts.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import { partForm } from "../../proxy/part-form.ts";
import type { CallOptions, Lease } from "../../serving/inference-service.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import { MISSING_TEXT } from "../../tensor/codecs/csv.ts";
import type { JsonWriter } from "../../tensor/codecs/json/json-writer.ts";
import { textAnswer } from "../text-answer.ts";
import { decodeGenerate, decodeGenerateJob, type GenerateRequest, generateInputs } from "./generate-request.ts";
import { decodeInfer, decodeInferJob } from "./http-decode.ts";
import type { KserveCall } from "./http-endpoint.ts";
import {
  type AnswerForm,
  isAllJson,
  isLargeJson,
  type KserveBodyParts,
  writeAnswer,
  writeAnswerJob,
  writeGenerated,
  writeGeneratedJob,
  writeJson,
  writeJsonJob,
} from "./http-response.ts";
import { type InferOptions, inferLeased } from "./infer-kserve.ts";
import { type KserveAnswer, sentTensors } from "./kserve-answer.ts";
import type { KserveRequest } from "./kserve-request.ts";
import { defaultSignature } from "./model-metadata.ts";
import { acquireModel, toModelRef } from "./model-ref.ts";
import { NO_PARAMETERS } from "./parameters.ts";
import { toRawInput } from "./raw-input.ts";

type HttpRequest = KserveRequest<AnswerForm>;

/** Triton's text. */
const DECOUPLED = "HTTP end point doesn't support models with decoupled transaction policy";

/** The model and version in a URL. */
interface ModelPath {
  readonly model: string;
  /** Empty = the highest. */
  readonly version: string;
}

/** Length of the JSON at the start of a body, in requests and answers with a binary part. */
const HEADER_LENGTH = "inference-header-content-length";

/** A request of infer, and the version that is to answer it. */
interface ReceivedInfer<Request extends KserveRequest = HttpRequest> {
  /** To be released. */
  readonly lease: Lease;
  readonly request: Request;
  readonly call: CallOptions;
}

/**
 * Answers `POST /v2/models/NAME[/versions/V]/infer` in JSON, binary or raw form; `answerOther` answers a request that
 * is only read as these are.
 */
export async function answerInfer(
  infer: KserveCall,
  answerOther?: (received: ReceivedInfer) => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  const { service, sharedMemory, settings, exchange, model, version } = infer;
  const path = { model, version };
  exchange.record.model = model;
  const header = exchange.request.headers[HEADER_LENGTH];
  const body = await exchange.readBody(alignmentOf(header));
  const call = exchange.callInfo();
  const lease = await acquireModel(service, toModelRef(model, version), call);
  const received = read({ body, header, path }, lease, exchange);
  const request = received instanceof Promise ? await received : received;
  const { form } = request;
  if (request.id !== "") exchange.record.id = request.id;
  if (answerOther !== undefined) return answerOther({ lease, request, call });
  const options = { call, maxBytes: exchange.maxMessageBytes, sharedMemory, settings, refusal: DECOUPLED };
  const answer = await inferLeased(lease, request, options);
  if (isAllJson(answer, form)) return toJsonAnswer(answer, form, exchange);
  const parts = isLargeJson(answer, form)
    ? await exchange.encode(writeAnswerJob, [answer, form])
    : writeAnswer(answer, form);
  return toHttpAnswer(parts, answer.metadata);
}

/** An answer without binary outputs. */
async function toJsonAnswer(answer: KserveAnswer, form: AnswerForm, exchange: HttpExchange): Promise<HttpAnswer> {
  const text = {
    tensors: sentTensors(answer),
    job: writeJsonJob,
    args: [answer, form] as const,
    write: (writer: JsonWriter) => void writeJson(writer, answer, form),
  };
  return { contentType: "application/json", headers: answer.metadata, ...(await textAnswer(text, exchange)) };
}

interface InferBody {
  readonly body: Uint8Array;
  /** Value of the header with the length of the JSON. */
  readonly header: string | string[] | undefined;
  readonly path: ModelPath;
}

/** Decodes a body, at once if that is short; releases the lease if the body cannot be read. */
function read(
  { body, header, path }: InferBody,
  lease: Lease,
  exchange: HttpExchange,
): HttpRequest | Promise<HttpRequest> {
  const giveUp = (reason: unknown): never => {
    lease.release();
    throw reason;
  };
  try {
    const headerLength = readHeaderLength(header, body.length);
    if (headerLength === 0 && body.length > 0) {
      return readRaw(lease.description, path, { body, maxBytes: exchange.maxMessageBytes });
    }
    const decoded = decode({ body, headerLength, path, nullText: nullTextOf(lease.description) }, exchange);
    return decoded instanceof Promise ? decoded.catch(giveUp) : decoded;
  } catch (reason) {
    return giveUp(reason);
  }
}

interface JsonBody {
  readonly body: Uint8Array;
  readonly headerLength: number;
  readonly path: ModelPath;
  readonly nullText: Uint8Array | undefined;
}

/** Models of tables have one signature. */
function nullTextOf({ signatures }: ServableDescription): Uint8Array | undefined {
  for (const name in signatures) if (signatures[name]?.isTabular) return MISSING_TEXT;
  return undefined;
}

/** A small JSON part is parsed here: the large rest is usually numbers to be viewed. */
function decode(
  { body, headerLength, path, nullText }: JsonBody,
  exchange: HttpExchange,
): HttpRequest | Promise<HttpRequest> {
  const { model, version } = path;
  const options = { model, version, headerLength, maxBytes: exchange.maxMessageBytes, nullText };
  const isSmall = headerLength <= LARGE_MESSAGE_BYTES;
  const decoded = isSmall ? decodeInfer(body, options, true) : undefined;
  return decoded ?? exchange.decode(decodeInferJob, [body, options], body);
}

/** Index at which the binary part begins, by its header. */
function alignmentOf(header: string | string[] | undefined): number {
  return header !== undefined && /^\d{1,9}$/.test(String(header)) ? Number(header) : 0;
}

/** Triton's raw request does not choose outputs, and gets all of them as bytes. */
const RAW_FORM: AnswerForm = { isBinary: true, isStrict: false, outputs: [] };

/** Without the header, the whole body is JSON. */
function readHeaderLength(text: string | string[] | undefined, bodyLength: number): number {
  if (text === undefined) return bodyLength;
  if (typeof text !== "string" || !/^-?\d+$/.test(text.trim())) {
    throw invalidArgument(`Unable to parse Inference-Header-Content-Length, got: ${String(text).slice(0, 40)}`);
  }
  const length = Number(text);
  if (length >= 0 && length <= bodyLength) return length;
  throw invalidArgument(
    `inference header size should be in range (0, ${bodyLength}), got: ${text.trim().slice(0, 40)}`,
  );
}

interface RawBody {
  readonly body: Uint8Array;
  readonly maxBytes: number;
}

function readRaw(
  description: ServableDescription,
  { model, version }: ModelPath,
  { body, maxBytes }: RawBody,
): HttpRequest {
  const { inputs: specs } = defaultSignature(description);
  const input = toRawInput(specs, body, { model, budget: new DecodeBudget(maxBytes) });
  return { model, version, id: "", parameters: NO_PARAMETERS, inputs: [input], outputs: [], form: RAW_FORM };
}

function toHttpAnswer({ json, binary }: KserveBodyParts, headers: HttpAnswer["headers"] = {}): HttpAnswer {
  if (binary.length === 0) return { contentType: "application/json", body: json, headers };
  return {
    contentType: "application/octet-stream",
    body: json,
    rest: binary,
    headers,
    ownHeaders: [["Inference-Header-Content-Length", String(json.length)]],
  };
}

/** Triton's text, here with the status 501; Triton's status is that of the first part. */
const NOT_ONE =
  "generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses";

/** Answers `POST /v2/models/NAME[/versions/V]/generate`: one answer, also of a model that answers in parts. */
export async function answerGenerate(generate: KserveCall): Promise<HttpAnswer> {
  const received = await receiveGenerate(generate);
  const { lease, request } = received;
  const answer = await inferLeased(lease, request, { refusal: NOT_ONE, ...toOptions(received, generate) });
  return toTextAnswer(answer, request, generate.exchange);
}

/** Answers `POST …/generate_stream`: an event for each part of an answer, or for the only one. */
export async function answerGenerateStream(generate: KserveCall): Promise<HttpAnswer> {
  return stream(await receiveGenerate(generate), generate);
}

/** Answers MLServer's `POST …/infer_stream`: a request of infer, an event for each part of its answer. */
export function answerInferStream(infer: KserveCall): Promise<HttpAnswer> {
  return answerInfer(infer, ({ request, ...received }) =>
    stream({ ...received, request: { isInfer: true, ...request } }, infer),
  );
}

type ReceivedGenerate = ReceivedInfer<GenerateRequest>;

async function receiveGenerate({ service, exchange, model, version }: KserveCall): Promise<ReceivedGenerate> {
  exchange.record.model = model;
  const body = await exchange.readBody();
  const call = exchange.callInfo();
  const lease = await acquireModel(service, toModelRef(model, version), call);
  try {
    const signature = defaultSignature(lease.description);
    const [inputs, modelInputs] = [signature.inputs, signature.modelInputs].map(generateInputs);
    const options = { model, version, maxBytes: exchange.maxMessageBytes, inputs, modelInputs };
    const isLarge = body.length > LARGE_MESSAGE_BYTES;
    const request = isLarge
      ? await exchange.decode(decodeGenerateJob, [body, options], body)
      : decodeGenerate(body, options);
    if (request.id !== "") exchange.record.id = request.id;
    return { lease, request, call };
  } catch (reason) {
    lease.release();
    throw reason;
  }
}

function toOptions({ call }: ReceivedGenerate, { exchange, sharedMemory, settings }: KserveCall): InferOptions {
  return { call, maxBytes: exchange.maxMessageBytes, sharedMemory, settings };
}

function stream(received: ReceivedGenerate, call: KserveCall): Promise<HttpAnswer> {
  const { exchange } = call;
  const { lease, request } = received;
  const form = partForm(exchange.request);
  return answerInParts<KserveAnswer>({ form: request.isInfer ? form : { ...form, hasNoCodes: true } }, exchange, {
    run: (write) => inferLeased(lease, request, { parts: { write }, ...toOptions(received, call) }),
    toPart: (part) => toTextAnswer(part, request, exchange),
    // As Triton does: what refuses the request is an error as any other, and what the model says an event.
    tellsError: () => exchange.record.isAdmitted && !request.isInfer,
  });
}

/** An answer or a part of one, as JSON in the form of its request. */
async function toTextAnswer(
  answer: KserveAnswer,
  { form, isInfer }: GenerateRequest,
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  const textForm = { ...form, isBinary: false, outputs: [] };
  if (isInfer) return toJsonAnswer(answer, textForm, exchange);
  const text = {
    tensors: sentTensors(answer),
    job: writeGeneratedJob,
    args: [answer, textForm] as const,
    write: (writer: JsonWriter) => writeGenerated(writer, answer, textForm),
  };
  return { contentType: "application/json", headers: answer.metadata, ...(await textAnswer(text, exchange)) };
}
