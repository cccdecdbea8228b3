import { failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";
import type { ProtocolSettings } from "../../platform/limits/settings/server-settings.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpRoute, InferenceRoute, RouteHandler } from "../../proxy/http-route.ts";
import { acceptedParts } from "../../proxy/part-form.ts";
import type { InferenceService, ModelRef } from "../../serving/inference-service.ts";
import { parseVersion } from "../../serving/parse-version.ts";
import type { Protocol } from "../protocol.ts";
import { answerExamples } from "./examples/http-examples.ts";
import { createTensorflowGrpc } from "./grpc-service.ts";
import { answerPredict, type PredictRequest } from "./http-predict.ts";
import { malformedRequest } from "./malformed-request.ts";
import { modelMetadata, toOpenvinoMetadata } from "./model-metadata.ts";
import {
  isOfKserve,
  type ModelDetail,
  type ModelStatus,
  modelStatus,
  readyStatus,
  withDetail,
} from "./model-status.ts";

/**
 * TensorFlow Serving's protocol. Over REST: predict, classify, regress and the states of versions; all else under
 * `/v1/` is refused with that server's text.
 */
export const tensorflowServing: Protocol = {
  name: "tensorflow-serving",
  grpc: createTensorflowGrpc,
  http: ({ service, settings }) => ({
    inference: [
      {
        ...inferenceRoute("predict", (request, exchange) =>
          answerPredict(service, { settings, ...request, inParts: acceptedParts(exchange.request) }, exchange),
        ),
        inParts: "accepted",
      },
      inferenceRoute("classify", (request, exchange) =>
        answerExamples(service, { settings, method: "classify", ...request }, exchange),
      ),
      inferenceRoute("regress", (request, exchange) =>
        answerExamples(service, { settings, method: "regress", ...request }, exchange),
      ),
    ],
    routes: [...modelRoutes(service, settings), ...configRoutes(service)],
    prefix: PREFIX,
    anyCase: true,
    refuse: malformedRequest,
    answerOptions: preflight,
  }),
};

const PREFIX = /^\/v1\//i;
/** The whole URL, query string included: `/v1/models/NAME[/versions/V | /labels/L]:predict`. */
const PREDICT = /^\/v1\/models\/([^/:]+)(?:\/versions\/(\d+)|\/labels\/([^/:]+))?:(?:classify|regress|predict)$/i;

/** The verb's case counts, as in the original. */
function inferenceRoute(
  verb: "predict" | "classify" | "regress",
  answer: (request: PredictRequest, exchange: HttpExchange) => Promise<HttpAnswer>,
): InferenceRoute {
  const ending = `:${verb}`;
  return {
    path: `/v1/models/:name{/versions/:version}\\${ending}`,
    find: (url) => {
      const match = url.endsWith(ending) ? PREDICT.exec(url) : null;
      if (match === null) return undefined;
      return async (exchange) => {
        const ref = toModelRef(match);
        exchange.record.model = ref.model;
        const request = { ref, body: await exchange.readBody() };
        return answer(request, exchange).catch((reason) => {
          throw withTimeoutText(reason);
        });
      };
    },
  };
}

/** Begins the error of a request that takes too long with the original's text, which has no hooks and their limits. */
function withTimeoutText(reason: unknown): unknown {
  if (!(reason instanceof ServingError) || reason.code !== "deadline_exceeded") return reason;
  if (reason.message.startsWith("The hook ")) return reason;
  return new ServingError(reason.code, `Timed out waiting for notification. ${reason.message}`, { cause: reason });
}

async function preflight({ request }: HttpExchange): Promise<HttpAnswer> {
  if (/https?:\/\//.test(request.headers.origin ?? ""))
    return { contentType: "application/json", body: Buffer.alloc(0) };
  throw failedPrecondition("Origin header is missing in CORS preflight");
}

/** The whole URL, query string included: `/v1/models/NAME[/versions/V | /labels/L][/metadata]`. */
const MODEL = /^\/v1\/models\/([^/:?]+)(?:\/versions\/(\d+)|\/labels\/([^/:?]+))?(?:\/metadata)?\/?(?:\?|$)/i;
const PATHS = ["/v1/models/:name", "/v1/models/:name/versions/:version", "/v1/models/:name/labels/:label"];

/**
 * The routes that list the models, the states of a model's versions, and its inputs and outputs. Members of Simple
 * TensorFlow Serving come on request alone: clients that read the states as a protobuf message take no others.
 */
function modelRoutes(service: InferenceService, settings: ProtocolSettings): readonly HttpRoute[] {
  const status = telling((ref, { request }) => {
    if (ref.version !== undefined || ref.label !== undefined) return modelStatus(service, ref);
    if (settings.simpleTensorflowServing) return withDetail(service, ref.model);
    return isOfKserve(request) ? readyStatus(service, ref.model) : modelStatus(service, ref);
  });
  const metadata = telling(async (ref) => {
    const found = await modelMetadata(service, ref);
    return settings.openvinoMetadata ? toOpenvinoMetadata(found) : found;
  });
  const ofOne = PATHS.flatMap((path): HttpRoute[] => [
    { method: "GET", path, kind: "read", answer: status },
    { method: "GET", path: `${path}/metadata`, kind: "read", answer: metadata },
  ]);
  return [
    { method: "GET", path: "/v1/models", kind: "read", answer: async () => toJson(await listModels(service)) },
    ...ofOne,
  ];
}

/** Every model with the states of its versions, in objects that may get more members. */
function listModels(service: InferenceService): Promise<readonly (ModelDetail & ModelStatus)[]> {
  return Promise.all(modelNames(service).map((model) => withDetail(service, model)));
}

function modelNames(service: InferenceService): readonly string[] {
  return [...new Set(service.index().map(({ model }) => model))];
}

function telling(find: (ref: ModelRef, exchange: HttpExchange) => object | Promise<object>): RouteHandler {
  return async (exchange: HttpExchange): Promise<HttpAnswer> => {
    const { request, record } = exchange;
    const match = MODEL.exec(request.url ?? "");
    if (match === null) throw malformedRequest(request);
    const ref = toModelRef(match);
    record.model = ref.model;
    return toJson(await find(ref, exchange));
  };
}

/**
 * The model that the parts of a URL mean: its name, version and label, percent-encoded as they stand there. Throws
 * `invalid_argument` for a version beyond 2^63.
 */
function toModelRef([, name = "", version, label]: RegExpExecArray): ModelRef {
  const model = percentDecode(name);
  if (label !== undefined) return { model, label: percentDecode(label) };
  if (version === undefined) return { model };
  const number = parseVersion(version);
  if (number !== undefined) return { model, version: number };
  throw invalidArgument(`Failed to convert version: ${version} to numeric.`);
}

/** Keeps invalid encodings unchanged, for which decodeURIComponent would throw. */
function percentDecode(text: string): string {
  if (!text.includes("%")) return text;
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll("%", ""), "hex").toString("utf8"));
}

/**
 * The routes that OpenVINO Model Server adds to TensorFlow Serving's API: the states of all models, and a look at the
 * configuration and the version folders, which answers 201 if it has changed anything, else 200.
 * https://docs.openvino.ai/2025/model-server/ovms_docs_rest_api_tfs.html
 */
function configRoutes(service: InferenceService): readonly HttpRoute[] {
  return [
    { method: "GET", path: "/v1/config", kind: "read", answer: async () => toJson(statuses(service)) },
    { method: "POST", path: "/v1/config/reload", kind: "control", answer: () => reload(service) },
  ];
}

async function reload(service: InferenceService): Promise<HttpAnswer> {
  const before = loadedFiles(service);
  await service.rescan();
  return toJson(statuses(service), loadedFiles(service) === before ? 200 : 201);
}

/** Changes when any version is loaded, loaded again or unloaded. */
function loadedFiles(service: InferenceService): string {
  return service
    .index()
    .map(({ model, version, state, generation }) => `${model} ${version} ${state} ${generation}`)
    .join("\n");
}

function statuses(service: InferenceService): Readonly<Record<string, ModelStatus>> {
  return Object.fromEntries(modelNames(service).map((model) => [model, modelStatus(service, { model })]));
}

/** An answer in JSON, with the original's white space. */
function toJson(value: unknown, status = 200): HttpAnswer {
  return { status, contentType: "application/json", body: Buffer.from(`${JSON.stringify(value, null, 1)}\n`) };
}
