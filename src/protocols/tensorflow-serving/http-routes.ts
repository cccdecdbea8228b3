import { isLargeText, LARGE_MESSAGE_BYTES } from "../../codec-host/large-message.ts";
import { ServingError } from "../../errors.ts";
import { DecodeBudget } from "../../limits/decode-budget.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpDependencies, HttpRoute, HttpRoutes } from "../../proxy/http-route.ts";
import type {
  InferenceService,
  InferResponse,
  ModelRef,
  ServableDescription,
} from "../../serving/inference-service.ts";
import { toPlainSignatures } from "../../signature/plain-signatures.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import {
  decodePredictJob,
  findSignature,
  type PredictMessage,
  parsePredictBody,
  readPredictBody,
} from "./http-request.ts";
import { writePredictions, writePredictionsJob } from "./http-response.ts";

const PREFIX = /^\/v1\//i;
/** The whole URL, query string included: `/v1/models/NAME[/versions/V | /labels/L]:predict`. */
const PREDICT = /^\/v1\/models\/([^/:]+)(?:\/versions\/(\d+)|\/labels\/([^/:]+))?:(?:classify|regress|predict)$/i;
/** The verb's case counts, as in the original. */
const VERB = ":predict";
const INT64_MAX = 2n ** 63n - 1n;

/** TensorFlow Serving's REST API: predict; all else under `/v1/` is refused with that server's text. */
export function createTensorflowRoutes({ service }: HttpDependencies): HttpRoutes {
  return (method, url) => {
    if (!PREFIX.test(url)) return undefined;
    if (method === "OPTIONS") return { kind: "read", answer: preflight };
    const match = method === "POST" && url.endsWith(VERB) ? PREDICT.exec(url) : null;
    if (match === null) return malformed(method, url);
    return { kind: "inference", answer: (exchange) => predict(service, toRef(match), exchange) };
  };
}

/** Behind the original's text. */
const EXPECTED = "Expected POST /v1/models/NAME[/versions/N]:predict; GET /v2/models/NAME tells what a model takes.";

function malformed(method: string, url: string): HttpRoute {
  const answer = async () => {
    throw new ServingError("invalid_argument", `Malformed request: ${method} ${url}. ${EXPECTED}`);
  };
  return { kind: "read", answer };
}

async function preflight({ request }: HttpExchange): Promise<HttpAnswer> {
  if (/https?:\/\//.test(request.headers.origin ?? "")) return toAnswer(Buffer.alloc(0));
  throw new ServingError("failed_precondition", "Origin header is missing in CORS preflight");
}

function toRef([, name = "", version, label]: RegExpExecArray): ModelRef {
  const model = percentDecode(name);
  if (label !== undefined) return { model, label: percentDecode(label) };
  if (version === undefined) return { model };
  if (BigInt(version) <= INT64_MAX) return { model, version: BigInt(version) };
  throw new ServingError("invalid_argument", `Failed to convert version: ${version} to numeric.`);
}

/** Leaves alone what is no encoding, where decodeURIComponent would throw. */
function percentDecode(text: string): string {
  if (!text.includes("%")) return text;
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll("%", ""), "hex").toString("utf8"));
}

async function predict(service: InferenceService, ref: ModelRef, exchange: HttpExchange): Promise<HttpAnswer> {
  exchange.record.model = ref.model;
  const request = await exchange.readBody();
  const { id, metadata, signal, memory, record, deadline } = exchange.callInfo();
  // JSON that is faulty is told before a model that is not there, as in the original; a large body is parsed when all is known.
  const isLarge = request.length > LARGE_MESSAGE_BYTES;
  const parsed = isLarge ? undefined : parsePredictBody(request, new DecodeBudget(exchange.maxMessageBytes));
  const servable = await service.describe(ref);
  const { signatures } = servable;
  const message =
    parsed === undefined ? await decodeLarge(request, signatures, exchange) : readPredictBody(parsed, signatures);
  const { format, inputs, signature: signatureName } = message;
  const signature = findSignature(signatureName, servable);
  // A remote server that does not tell its signatures does not tell its version either.
  const { model, version, label }: ModelRef =
    signature === undefined ? ref : { model: servable.model, version: servable.version };
  // Not spread: an object made of two others has a hidden class of its own, which outlives the request.
  const answer = await service.infer({
    id,
    metadata,
    signal,
    memory,
    record,
    deadline,
    model,
    version,
    label,
    signature: signatureName,
    inputs: { kind: "tensors", tensors: inputs },
  });
  const outputs = tensorsOf(answer);
  if (signature?.outputs !== undefined && Object.keys(outputs).length === 0) {
    throw new ServingError("invalid_argument", "Cannot convert empty tensor map to JSON");
  }
  const body = isLargeText(Object.values(outputs))
    ? await exchange.encode(writePredictionsJob, [outputs, format])
    : writePredictions(outputs, format);
  return toAnswer(body, answer.metadata);
}

function decodeLarge(
  body: Uint8Array,
  signatures: ServableDescription["signatures"],
  exchange: HttpExchange,
): Promise<PredictMessage> {
  const { maxMessageBytes } = exchange;
  return exchange.decode(decodePredictJob, [body, toPlainSignatures(signatures), maxMessageBytes], body);
}

function tensorsOf({ outputs }: InferResponse): Tensors {
  if (outputs.kind === "tensors") return outputs.tensors;
  throw new ServingError("internal", "The service answered a request of kind tensors with json.");
}

function toAnswer(body: Uint8Array, headers: HttpAnswer["headers"] = {}): HttpAnswer {
  return { contentType: "application/json", body, headers };
}
