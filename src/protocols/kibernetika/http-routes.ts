import { LARGE_MESSAGE_BYTES } from "../../codec-host/large-message.ts";
import { ServingError } from "../../errors.ts";
import { HttpError } from "../../proxy/http-errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpDependencies, HttpRoute, HttpRoutes, RouteHandler } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { checkMimeType, isLargeAnswer, toKibernetikaAnswer, toKibernetikaAnswerJob } from "./http-answer.ts";
import { type KibernetikaRequest, parseKibernetikaJson, parseKibernetikaJsonJob } from "./http-codec.ts";
import { parseKibernetikaForm, parseKibernetikaFormJob } from "./http-multipart.ts";

const PREDICT = /^\/predict(?:\/[^?]*)?(?:\?|$)/;
const PREDICT_JSON = /^\/serving-proxy\/?(?:\?|$)/;
/** Beside JSON's own: what clients send that do not name the type of their JSON, such as `curl -d`. */
const JSON_TYPES: ReadonlySet<string> = new Set(["", "text/plain", "application/x-www-form-urlencoded"]);
const INT64_MAX = 2n ** 63n - 1n;

/** The original tool's proxy: `POST /predict[/MODEL[/SIGNATURE[/VERSION]]]` and `POST /serving-proxy`. */
export function createKibernetikaRoutes({ service }: HttpDependencies): HttpRoutes {
  return (method, url) => {
    const isPredict = PREDICT.test(url);
    if (!isPredict && !PREDICT_JSON.test(url)) return undefined;
    if (method !== "POST") return REFUSAL;
    const answer: RouteHandler = (exchange) =>
      isPredict ? predict(service, url, exchange) : predictJson(service, exchange);
    return { kind: "inference", answer };
  };
}

const REFUSAL: HttpRoute = {
  kind: "read",
  answer: async ({ request }) => {
    throw new HttpError(405, `${request.method} is not possible here; send POST.`, { allow: "POST" });
  },
};

async function predict(service: InferenceService, url: string, exchange: HttpExchange): Promise<HttpAnswer> {
  const { signature, version } = parsePath(url);
  const { id, metadata, signal, memory, record, deadline } = exchange.callInfo();
  const request = await readRequest(exchange);
  checkMimeType(request.outMimeType);
  const response = await service.infer({
    id,
    metadata,
    signal,
    memory,
    record,
    deadline,
    model: "",
    version,
    signature,
    inputs: { kind: "tensors", tensors: request.inputs },
    outputs: request.outFilter.length > 0 ? request.outFilter : undefined,
  });
  if (!isLargeAnswer(response, request)) return toKibernetikaAnswer(response, request);
  const { outFilter, outMimeType } = request;
  const { outputs, metadata: headers, contentType } = response;
  return exchange.encode(toKibernetikaAnswerJob, [
    { outputs, metadata: headers, ...(contentType !== undefined && { contentType }) },
    { outFilter, outMimeType },
  ]);
}

async function readRequest(exchange: HttpExchange): Promise<KibernetikaRequest> {
  const { mediaType, maxMessageBytes, request } = exchange;
  const isForm = mediaType === "multipart/form-data";
  if (!isForm && !JSON_TYPES.has(mediaType) && !/[/+]json$/.test(mediaType)) throw unsupportedType(mediaType);
  const body = await exchange.readBody();
  const isLarge = body.length > LARGE_MESSAGE_BYTES;
  if (!isForm) {
    if (!isLarge) return parseKibernetikaJson(body, maxMessageBytes);
    return exchange.decode(parseKibernetikaJsonJob, [body, maxMessageBytes], body);
  }
  const type = request.headers["content-type"] ?? "";
  if (!isLarge) return parseKibernetikaForm(body, type, maxMessageBytes);
  return exchange.decode(parseKibernetikaFormJob, [body, type, maxMessageBytes], body);
}

function unsupportedType(mediaType: string): HttpError {
  return new HttpError(
    415,
    `Content-Type "${mediaType}" is not supported; send application/json or multipart/form-data.`,
  );
}

interface PathChoice {
  readonly signature: string;
  readonly version?: bigint;
}

/** The model's name is not looked at: there is one model, and the original's clients send any name for it. */
function parsePath(url: string): PathChoice {
  const [path = ""] = url.split("?", 1);
  const [, , , signature = "", version = "", ...more] = path.split("/");
  if (more.some((segment) => segment !== "")) {
    throw new ServingError("not_found", `There is no ${path}; expected /predict[/MODEL[/SIGNATURE[/VERSION]]].`);
  }
  const number = /^\d{1,19}$/.test(version) ? BigInt(version) : undefined;
  if (version !== "" && (number === undefined || number > INT64_MAX))
    throw new ServingError("not_found", "Bad version value");
  const name = decodeSegment(signature);
  // 0 says that no version was chosen: the original's messages have no other way.
  return number === undefined || number === 0n ? { signature: name } : { signature: name, version: number };
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
    throw new ServingError(
      "invalid_argument",
      "The body is empty; expected a JSON object with an input under each name.",
    );
  }
  const { outputs, metadata } = await service.infer({
    ...exchange.callInfo(),
    model: "",
    signature: "",
    inputs: { kind: "json", json },
  });
  if (outputs.kind === "json") return { contentType: "application/json", body: outputs.json, headers: metadata };
  throw new ServingError("internal", "The service answered a request of kind json with tensors.");
}
