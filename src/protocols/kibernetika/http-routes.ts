import { invalidArgument, ServingError } from "../../errors.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { HttpError } from "../../proxy/http-errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { CreateHttpProtocol, HttpAnswer } from "../../proxy/http-route.ts";
import type { CallOptions, InferenceService, InferResponse } from "../../serving/inference-service.ts";
import { parseVersion } from "../../serving/parse-version.ts";
import { requireSignature } from "../../serving/require-signature.ts";
import { servedNames } from "../../serving/served-names.ts";
import { assertOutputs } from "../../tensor/signature/choose-signature.ts";
import { answeredJson } from "../answered-tensors.ts";
import { checkMimeType, isLargeAnswer, toKibernetikaAnswer, toLargeAnswer } from "./http-answer.ts";
import { type KibernetikaRequest, parseKibernetikaJson, parseKibernetikaJsonJob } from "./http-codec.ts";
import { parseKibernetikaForm, parseKibernetikaFormJob } from "./http-multipart.ts";
import { inferJson } from "./infer-json.ts";

const PREDICT = /^\/predict(?:\/[^?]*)?(?:\?|$)/;
const PREDICT_JSON = /^\/serving-proxy\/?(?:\?|$)/;
/** In addition to JSON's own type: the types of clients that do not set one for JSON. */
const JSON_TYPES: ReadonlySet<string> = new Set(["", "text/plain"]);
/** The type that `curl -d` sends, with JSON as well as with fields. */
const ENCODED_FORM = "application/x-www-form-urlencoded";

/** The original tool's proxy: `POST /predict[/MODEL[/SIGNATURE[/VERSION]]]` and `POST /serving-proxy`. */
export const createKibernetikaHttp: CreateHttpProtocol = ({ service }) => ({
  inference: [
    {
      path: "/predict{/:model{/:signature{/:version}}}",
      find: (url) => (PREDICT.test(url) ? (exchange) => predict(service, url, exchange) : undefined),
    },
    {
      path: "/serving-proxy",
      find: (url) => (PREDICT_JSON.test(url) ? (exchange) => predictJson(service, exchange) : undefined),
    },
  ],
});

async function predict(service: InferenceService, url: string, exchange: HttpExchange): Promise<HttpAnswer> {
  const choice = parsePath(url);
  const call = exchange.callInfo();
  const request = await readRequest(exchange);
  checkMimeType(request.outMimeType);
  const response = await infer(service, { choice, request, call });
  if (!isLargeAnswer(response, request)) return toKibernetikaAnswer(response, request);
  return toLargeAnswer(response, request, exchange);
}

interface KibernetikaCall {
  readonly choice: PathChoice;
  readonly request: KibernetikaRequest;
  readonly call: CallOptions;
}

async function infer(service: InferenceService, { choice, request, call }: KibernetikaCall): Promise<InferResponse> {
  const ref = { model: modelOf(service, choice.model), version: choice.version };
  const lease = await service.acquire(ref, call);
  try {
    const outputs = request.outFilter.length > 0 ? request.outFilter : undefined;
    const used = { inputs: Object.keys(request.inputs), outputs };
    const signature = requireSignature(choice.signature, lease.description, used);
    assertOutputs(outputs, signature.spec?.outputs);
    return await lease.infer({ signature, inputs: { kind: "tensors", tensors: request.inputs }, outputs, call });
  } finally {
    lease.release();
  }
}

async function readRequest(exchange: HttpExchange): Promise<KibernetikaRequest> {
  const { mediaType, maxMessageBytes, request } = exchange;
  if (!isTaken(mediaType)) throw unsupportedType(mediaType);
  const body = await exchange.readBody();
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
  return isJson || mediaType === ENCODED_FORM || mediaType === "multipart/form-data";
}

/** An encoded form begins with the letter of a field's name, and no JSON object does. */
function isForm(mediaType: string, body: Uint8Array): boolean {
  if (mediaType !== ENCODED_FORM) return mediaType === "multipart/form-data";
  return /^[A-Za-z]/.test(String.fromCharCode(body[0] ?? 0));
}

function unsupportedType(mediaType: string): HttpError {
  return new HttpError(
    415,
    `Content-Type "${mediaType}" is not supported; send application/json or multipart/form-data.`,
  );
}

/**
 * The original's clients send any name to a server of one model, or to one whose
 * models are not known here; among several the name counts.
 */
function modelOf(service: InferenceService, name: string): string {
  const served = new Set(service.index().map(({ model }) => model));
  if (name === "" && served.size > 1)
    throw invalidArgument(`The path names no model; expected /predict/MODEL.${servedNames("", served)}`);
  if (name === "") return "";
  return served.size > 1 || served.has(name) ? name : "";
}

interface PathChoice {
  readonly model: string;
  readonly signature: string;
  readonly version?: bigint;
}

function parsePath(url: string): PathChoice {
  const [path = ""] = url.split("?", 1);
  const [, , model = "", signature = "", version = "", ...more] = path.split("/");
  if (more.some((segment) => segment !== "")) {
    throw new ServingError("not_found", `There is no ${path}; expected /predict[/MODEL[/SIGNATURE[/VERSION]]].`);
  }
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

async function predictJson(service: InferenceService, exchange: HttpExchange): Promise<HttpAnswer> {
  const json = await exchange.readBody();
  if (json.length === 0) {
    throw invalidArgument("The body is empty; expected a JSON object with an input under each name.");
  }
  const answer = await inferJson(service, json, exchange.callInfo());
  return { contentType: "application/json", body: answeredJson(answer), headers: answer.metadata };
}
