import { isLargeText, LARGE_MESSAGE_BYTES } from "../../codec-host/large-message.ts";
import { ServingError } from "../../errors.ts";
import { DecodeBudget } from "../../limits/decode-budget.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { CreateHttpProtocol, HttpAnswer, InferenceRoute } from "../../proxy/http-route.ts";
import type {
  CallOptions,
  InferenceService,
  Lease,
  ModelRef,
  ServableDescription,
} from "../../serving/inference-service.ts";
import { toPlainSignatures } from "../../signature/plain-signatures.ts";
import { answeredTensors } from "../answered-tensors.ts";
import { answerExamples } from "./examples/http-examples.ts";
import { checkOutputFilter } from "./grpc-signature.ts";
import { configRoutes } from "./http-config.ts";
import { modelRoutes } from "./http-models.ts";
import {
  decodePredictJob,
  findSignature,
  type PredictBody,
  type PredictMessage,
  parsePredictBody,
  readInputs,
} from "./http-request.ts";
import { writePredictions, writePredictionsJob } from "./http-response.ts";
import { versionHeaders } from "./http-version.ts";
import { malformedRequest } from "./malformed-request.ts";
import { toModelRef } from "./url-model-ref.ts";

const PREFIX = /^\/v1\//i;
/** The whole URL, query string included: `/v1/models/NAME[/versions/V | /labels/L]:predict`. */
const PREDICT = /^\/v1\/models\/([^/:]+)(?:\/versions\/(\d+)|\/labels\/([^/:]+))?:(?:classify|regress|predict)$/i;

/** TensorFlow Serving's REST API: predict, classify, regress and the states of versions; all else under `/v1/` is refused with that server's text. */
export const createTensorflowHttp: CreateHttpProtocol = ({ service }) => ({
  inference: [
    inferenceRoute("predict", (ref, exchange) => predict(service, ref, exchange)),
    inferenceRoute("classify", (ref, exchange) => answerExamples(service, { ref, method: "classify" }, exchange)),
    inferenceRoute("regress", (ref, exchange) => answerExamples(service, { ref, method: "regress" }, exchange)),
  ],
  routes: [...modelRoutes(service), ...configRoutes(service)],
  prefix: PREFIX,
  refuse: malformedRequest,
  answerOptions: preflight,
});

/** The verb's case counts, as in the original. */
function inferenceRoute(
  verb: "predict" | "classify" | "regress",
  answer: (ref: ModelRef, exchange: HttpExchange) => Promise<HttpAnswer>,
): InferenceRoute {
  const ending = `:${verb}`;
  return {
    path: `/v1/models/:name{/versions/:version}\\${ending}`,
    find: (url) => {
      const match = url.endsWith(ending) ? PREDICT.exec(url) : null;
      return match === null ? undefined : (exchange) => answer(toModelRef(match), exchange);
    },
  };
}

async function preflight({ request }: HttpExchange): Promise<HttpAnswer> {
  if (/https?:\/\//.test(request.headers.origin ?? "")) return toAnswer(Buffer.alloc(0));
  throw new ServingError("failed_precondition", "Origin header is missing in CORS preflight");
}

async function predict(service: InferenceService, ref: ModelRef, exchange: HttpExchange): Promise<HttpAnswer> {
  exchange.record.model = ref.model;
  const body = await exchange.readBody();
  const call = exchange.callInfo();
  // As in the original, invalid JSON is reported before a missing model; a large body is parsed once the model is
  // known.
  const isLarge = body.length > LARGE_MESSAGE_BYTES;
  const parsed = isLarge ? undefined : parsePredictBody(body, new DecodeBudget(exchange.maxMessageBytes));
  const { signature, format, answer } = await infer(await service.acquire(ref, call), { body, parsed, call }, exchange);
  const outputs = answeredTensors(answer);
  if (signature.spec?.outputs !== undefined && Object.keys(outputs).length === 0) {
    throw new ServingError("invalid_argument", "Cannot convert empty tensor map to JSON");
  }
  const text = isLargeText(Object.values(outputs))
    ? await exchange.encode(writePredictionsJob, [outputs, format])
    : writePredictions(outputs, format);
  return toAnswer(text, versionHeaders(answer));
}

interface ReceivedPredict {
  readonly body: Uint8Array;
  /** Undefined for a large body. */
  readonly parsed: PredictBody | undefined;
  readonly call: CallOptions;
}

async function infer(lease: Lease, { body, parsed, call }: ReceivedPredict, exchange: HttpExchange) {
  try {
    const { description } = lease;
    const large = parsed === undefined ? await decodeLarge(body, description.signatures, exchange) : undefined;
    const signature = findSignature((large ?? parsed)?.signature ?? "", description);
    const { outputFilter } = large ?? (parsed as PredictBody);
    if (signature.spec !== undefined) checkOutputFilter(outputFilter, signature.spec.outputs);
    const { format, inputs } = large ?? readInputs(parsed as PredictBody, signature.spec);
    const outputs = outputFilter.length > 0 ? outputFilter : undefined;
    const answer = await lease.infer({ signature, inputs: { kind: "tensors", tensors: inputs }, outputs, call });
    return { signature, format, answer };
  } finally {
    lease.release();
  }
}

function decodeLarge(
  body: Uint8Array,
  signatures: ServableDescription["signatures"],
  exchange: HttpExchange,
): Promise<PredictMessage> {
  const { maxMessageBytes } = exchange;
  return exchange.decode(decodePredictJob, [body, toPlainSignatures(signatures), maxMessageBytes], body);
}

function toAnswer(body: Uint8Array, headers: HttpAnswer["headers"] = {}): HttpAnswer {
  return { contentType: "application/json", body, headers };
}
