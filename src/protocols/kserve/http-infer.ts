import { LARGE_BYTES } from "../../codecs/json/json-reader.ts";
import { ServingError } from "../../errors.ts";
import { compressAnswer } from "../../proxy/compress-answer.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import type { InferenceService, ServableDescription } from "../../serving/inference-service.ts";
import { toInputs } from "./http-inputs.ts";
import { toRawInput } from "./http-raw-request.ts";
import { parseKserveBody, parseLargeKserveBody } from "./http-request.ts";
import { type AnswerForm, type KserveBodyParts, readForm, writeAnswer } from "./http-response.ts";
import { inferKserve, type KserveRequest } from "./infer-kserve.ts";
import { defaultSignature } from "./model-metadata.ts";
import { describeModel, toModelRef } from "./model-ref.ts";
import { NO_PARAMETERS } from "./parameters.ts";
import type { InputContext } from "./raw-tensor.ts";

/** Which model a URL names. */
export interface ModelPath {
  readonly model: string;
  /** Empty = the highest. */
  readonly version: string;
}

/** Bytes of JSON at the start of a body, in requests and answers that have a binary part. */
const HEADER_LENGTH = "inference-header-content-length";

/** Answers `POST /v2/models/NAME[/versions/V]/infer` in JSON, binary or raw form. */
export async function answerInfer(
  service: InferenceService,
  path: ModelPath,
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  exchange.record.model = path.model;
  const header = exchange.request.headers[HEADER_LENGTH];
  const body = await (header === undefined ? exchange.lendBody() : exchange.readBody(alignmentOf(header)));
  const description = await describeModel(service, toModelRef(path.model, path.version));
  const context = { model: path.model, budget: exchange.budget };
  const headerLength = readHeaderLength(header, body.length);
  const { request, form } =
    headerLength === 0 && body.length > 0
      ? readRaw(description, path, { body, context })
      : await readJson(path, { json: body.subarray(0, headerLength), binary: body.subarray(headerLength) }, context);
  if (header === undefined) exchange.recycle(body);
  const answer = await inferKserve(service, request, exchange.callInfo());
  return compressAnswer(toHttpAnswer(writeAnswer(answer, form), answer.metadata), exchange);
}

/** Where the binary part is said to begin. */
function alignmentOf(header: string | string[]): number {
  return /^\d{1,9}$/.test(String(header)) ? Number(header) : 0;
}

/** Triton's raw request says nothing of outputs, and gets all as bytes. */
const RAW_FORM: AnswerForm = { isBinary: true, isStrict: false, outputs: [] };

/** The whole body is JSON where no header says otherwise. */
function readHeaderLength(text: string | string[] | undefined, bodyLength: number): number {
  if (text === undefined) return bodyLength;
  if (typeof text !== "string" || !/^-?\d+$/.test(text.trim())) {
    throw invalid(`Unable to parse Inference-Header-Content-Length, got: ${String(text).slice(0, 40)}`);
  }
  const length = Number(text);
  if (length >= 0 && length <= bodyLength) return length;
  throw invalid(`inference header size should be in range (0, ${bodyLength}), got: ${text.trim().slice(0, 40)}`);
}

interface ReadRequest {
  readonly request: KserveRequest;
  readonly form: AnswerForm;
}

const NOTHING = new Uint8Array(0);

interface SplitBody {
  readonly json: Uint8Array;
  readonly binary: Uint8Array;
}

async function readJson(
  { model, version }: ModelPath,
  { json, binary }: SplitBody,
  context: InputContext,
): Promise<ReadRequest> {
  const parse = json.length > LARGE_BYTES ? parseLargeKserveBody : parseKserveBody;
  const { id, parameters, inputs, outputs } = await parse(json, context.budget);
  // Where there is no binary part, no input may be a view of the JSON's buffer, be it an empty one.
  const tensors = toInputs(inputs, binary.length > 0 ? binary : NOTHING, { ...context, id });
  return {
    request: { model, version, id, parameters, inputs: tensors, outputs },
    form: readForm(parameters, outputs),
  };
}

interface RawBody {
  readonly body: Uint8Array;
  readonly context: InputContext;
}

function readRaw(
  description: ServableDescription,
  { model, version }: ModelPath,
  { body, context }: RawBody,
): ReadRequest {
  const { inputs } = defaultSignature(description);
  const input = toRawInput(inputs, body, context);
  const request = { model, version, id: "", parameters: NO_PARAMETERS, inputs: [input], outputs: [] };
  return { request, form: RAW_FORM };
}

function toHttpAnswer({ json, binary }: KserveBodyParts, headers: HttpAnswer["headers"] = {}): HttpAnswer {
  if (binary.length === 0) return { contentType: "application/json", body: json, headers };
  return {
    contentType: "application/octet-stream",
    body: json,
    rest: binary,
    headers: { ...headers, "Inference-Header-Content-Length": String(json.length) },
  };
}

function invalid(message: string): ServingError {
  return new ServingError("invalid_argument", message);
}
