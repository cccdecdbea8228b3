import { invalidArgument, ServingError } from "../../errors.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { answerInParts } from "../../proxy/answer-parts.ts";
import { HttpError } from "../../proxy/http-errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import { acceptedParts } from "../../proxy/part-form.ts";
import type { CallOptions, InferenceService, InferResponse } from "../../serving/inference-service.ts";
import { parseVersion } from "../../serving/parse-version.ts";
import { requireSignature } from "../../serving/require-signature.ts";
import { servedNames } from "../../serving/served-names.ts";
import { assertOutputs } from "../../tensor/signature/choose-signature.ts";
import { answeredJson } from "../answered-tensors.ts";
import { docsOf } from "../kserve/openapi.ts";
import type { Protocol } from "../protocol.ts";
import { answerPredict, type WritePredicted } from "../tensorflow-serving/http-predict.ts";
import { createKibernetikaGrpc } from "./grpc-service.ts";
import {
  type Answered,
  checkMimeType,
  isLargeAnswer,
  toJsonAnswer,
  toKibernetikaAnswer,
  toLargeAnswer,
} from "./http-answer.ts";
import {
  type KibernetikaRequest,
  type PlainForm,
  parseKibernetikaJson,
  parseKibernetikaJsonJob,
  plainMember,
  readPlainRequest,
  withDimension,
} from "./http-codec.ts";
import { ENCODED_FORM, isForm, parseKibernetikaForm, parseKibernetikaFormJob } from "./http-multipart.ts";
import { inferJson } from "./infer-json.ts";

/**
 * The original server's protocol: PredictJSON over gRPC; over HTTP `POST /predict[/MODEL[/SIGNATURE[/VERSION]]]` and
 * `POST /serving-proxy`.
 */
export const kibernetika: Protocol = {
  name: "kibernetika",
  grpc: createKibernetikaGrpc,
  http: ({ service, settings }) => ({
    docsOf: docsOf(settings),
    inference: [
      {
        path: "/predict{/:model{/:signature{/:version}}}",
        inParts: "accepted",
        find: (url) => (PREDICT.test(url) ? (exchange) => predict(service, url, exchange) : undefined),
      },
      {
        path: "/serving-proxy",
        find: (url) => (PREDICT_JSON.test(url) ? (exchange) => predictJson(service, exchange) : undefined),
      },
    ],
  }),
};

const PREDICT = /^\/predict(?:\/[^?]*)?(?:\?|$)/;
const PREDICT_JSON = /^\/serving-proxy\/?(?:\?|$)/;
/** In addition to JSON's own type: the types of clients that do not set one for JSON. */
const JSON_TYPES: ReadonlySet<string> = new Set(["", "text/plain"]);
const CSV_TYPE = "text/csv";

async function predict(service: InferenceService, url: string, exchange: HttpExchange): Promise<HttpAnswer> {
  const path = parsePath(url);
  // An error of the body names the document of this model, which has to be there.
  const isServed = path.model !== "" && service.index().some(({ model }) => model === path.model);
  exchange.record.model = isServed ? path.model : "";
  const choice = { ...path, isServed };
  const call = exchange.callInfo();
  if (!isTaken(exchange.mediaType)) throw unsupportedType(exchange.mediaType);
  const body = await exchange.readBody();
  const form = plainFormOf(exchange.mediaType, body);
  if (form !== undefined) return answerPlain(service, { choice, body, form }, exchange);
  const request = await readRequest(body, exchange);
  exchange.record.model = choice.model;
  checkMimeType(request.outMimeType);
  const inParts = acceptedParts(exchange.request);
  if (inParts !== undefined)
    return answerInParts<Predicted>(inParts, exchange, {
      run: (write) => infer(service, { choice, request, call, write }),
      toPart: (part) => toJsonAnswer(part, request, exchange),
      toAnswer: (answer) => toHttpAnswer(answer, request, exchange),
    });
  return toHttpAnswer(await infer(service, { choice, request, call }), request, exchange);
}

/** Rows or columns of plain values; undefined for a body of another form. */
function plainFormOf(mediaType: string, body: Buffer): PlainForm | undefined {
  if (mediaType === CSV_TYPE) return "csv";
  return isForm(mediaType, body) ? undefined : plainMember(body);
}

interface PlainCall {
  readonly choice: ModelChoice;
  readonly body: Buffer;
  readonly form: PlainForm;
}

/** Answers in the form that all answers of this protocol have. */
async function answerPlain(
  service: InferenceService,
  { choice, body, form }: PlainCall,
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  const ref = { model: modelOf(service, choice), ...(choice.version && { version: choice.version }) };
  const request = await readPlainRequest(body, { form, signature: choice.signature }, exchange);
  const write: WritePredicted = async ({ answer, signature: { spec } }) =>
    toHttpAnswer({ ...answer, spec }, ANY_OUTPUTS, exchange);
  const writePart: WritePredicted = ({ answer, signature: { spec } }) =>
    toJsonAnswer({ ...answer, spec }, ANY_OUTPUTS, exchange);
  const inParts = acceptedParts(exchange.request);
  return answerPredict(service, { ref, ...request, write, writePart, inParts }, exchange);
}

const ANY_OUTPUTS: Pick<KibernetikaRequest, "outFilter" | "outMimeType"> = { outFilter: [], outMimeType: "" };

function toHttpAnswer(
  response: Answered,
  request: Pick<KibernetikaRequest, "outFilter" | "outMimeType">,
  exchange: HttpExchange,
): HttpAnswer | Promise<HttpAnswer> {
  if (!isLargeAnswer(response, request)) return toKibernetikaAnswer(response, request);
  return toLargeAnswer(response, request, exchange);
}

/** An answer, or a part of one. */
type Predicted = InferResponse & Answered;

interface KibernetikaCall {
  readonly choice: ModelChoice;
  readonly request: KibernetikaRequest;
  readonly call: CallOptions;
  /** Takes the parts of an answer. */
  readonly write?: (part: Predicted) => Promise<void>;
}

async function infer(service: InferenceService, { choice, request, call, write }: KibernetikaCall): Promise<Predicted> {
  const ref = { model: modelOf(service, choice), version: choice.version };
  const lease = await service.acquire(ref, call);
  try {
    const outputs = request.outFilter.length > 0 ? request.outFilter : undefined;
    const used = { inputs: Object.keys(request.inputs), outputs };
    const signature = requireSignature(choice.signature, lease.description, used);
    assertOutputs(outputs, signature.spec?.outputs);
    const inputs = { kind: "tensors", tensors: withDimension(request.inputs, signature.spec?.inputs) } as const;
    const toPredicted = (answer: InferResponse): Predicted =>
      request.isPlain ? { ...answer, spec: signature.spec } : answer;
    const parts = write && { write: (part: InferResponse) => write(toPredicted(part)) };
    return toPredicted(await lease.infer({ signature, inputs, outputs, parts, call }));
  } finally {
    lease.release();
  }
}

/**
 * The original's clients send any name to a server of one model, or to one whose
 * models are not known here; among several the name counts.
 */
function modelOf(service: InferenceService, { model: name, isServed }: ModelChoice): string {
  if (isServed) return name;
  const served = new Set(service.index().map(({ model }) => model));
  if (name === "" && served.size > 1)
    throw invalidArgument(`The path names no model; expected /predict/MODEL.${servedNames("", served)}`);
  return served.size > 1 || served.has(name) ? name : "";
}

interface ModelChoice {
  readonly model: string;
  readonly signature: string;
  readonly version?: bigint;
  /** True if a model of this name was there when the request came. */
  readonly isServed: boolean;
}

function parsePath(url: string): Omit<ModelChoice, "isServed"> {
  const [path = ""] = url.split("?", 1);
  const [, , model = "", signature = "", version = "", ...more] = path.split("/");
  if (more.some((segment) => segment !== ""))
    throw new ServingError("not_found", `There is no ${path}; expected /predict[/MODEL[/SIGNATURE[/VERSION]]].`);
  const number = parseVersion(version);
  if (version !== "" && number === undefined) throw new ServingError("not_found", "Bad version value");
  const names = { model: decodeSegment(model), signature: decodeSegment(signature) };
  // 0 means that no version was chosen: the original's messages cannot express it otherwise.
  return number === undefined || number === 0n ? names : { ...names, version: number };
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new ServingError("not_found", `The path's part "${segment}" is not percent-encoded correctly.`, { cause });
  }
}

async function readRequest(body: Buffer, exchange: HttpExchange): Promise<KibernetikaRequest> {
  const { mediaType, maxMessageBytes, request } = exchange;
  const isLarge = body.length > LARGE_MESSAGE_BYTES;
  if (!isForm(mediaType, body)) {
    if (!isLarge) return parseKibernetikaJson(body, maxMessageBytes);
    return exchange.decode(parseKibernetikaJsonJob, [body, maxMessageBytes], body);
  }
  const type = request.headers["content-type"] ?? "";
  if (!isLarge) return parseKibernetikaForm(body, type, maxMessageBytes);
  return exchange.decode(parseKibernetikaFormJob, [body, type, maxMessageBytes], body);
}

function isTaken(mediaType: string): boolean {
  const isJson = JSON_TYPES.has(mediaType) || /[/+]json$/.test(mediaType);
  return isJson || [CSV_TYPE, ENCODED_FORM, "multipart/form-data"].includes(mediaType);
}

function unsupportedType(mediaType: string): HttpError {
  return new HttpError(
    415,
    `Content-Type "${mediaType}" is not supported; send application/json, text/csv or multipart/form-data.`,
  );
}

async function predictJson(service: InferenceService, exchange: HttpExchange): Promise<HttpAnswer> {
  const json = await exchange.readBody();
  if (json.length === 0)
    throw invalidArgument("The body is empty; expected a JSON object with an input under each name.");
  const answer = await inferJson(service, json, exchange.callInfo());
  return { contentType: "application/json", body: answeredJson(answer), headers: answer.metadata };
}
