import { failedPrecondition, ServingError } from "../../errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { CreateHttpProtocol, HttpAnswer, HttpRoute, InferenceRoute } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { answerExamples } from "./examples/http-examples.ts";
import { toJson } from "./http-json.ts";
import { modelRoutes } from "./http-models.ts";
import { answerPredict, type PredictRequest } from "./http-predict.ts";
import { malformedRequest } from "./malformed-request.ts";
import { type ModelStatus, modelStatus } from "./model-status.ts";
import { toModelRef } from "./url-model-ref.ts";

const PREFIX = /^\/v1\//i;
/** The whole URL, query string included: `/v1/models/NAME[/versions/V | /labels/L]:predict`. */
const PREDICT = /^\/v1\/models\/([^/:]+)(?:\/versions\/(\d+)|\/labels\/([^/:]+))?:(?:classify|regress|predict)$/i;

/**
 * TensorFlow Serving's REST API: predict, classify, regress and the states of versions; all else under `/v1/` is
 * refused with that server's text.
 */
export const createTensorflowHttp: CreateHttpProtocol = ({ service, settings }) => ({
  inference: [
    inferenceRoute("predict", (request, exchange) => answerPredict(service, { settings, ...request }, exchange)),
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
});

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

/** Begins the error of a request that takes too long with the original's text. */
function withTimeoutText(reason: unknown): unknown {
  if (!(reason instanceof ServingError) || reason.code !== "deadline_exceeded") return reason;
  return new ServingError(reason.code, `Timed out waiting for notification. ${reason.message}`, { cause: reason });
}

async function preflight({ request }: HttpExchange): Promise<HttpAnswer> {
  if (/https?:\/\//.test(request.headers.origin ?? ""))
    return { contentType: "application/json", body: Buffer.alloc(0) };
  throw failedPrecondition("Origin header is missing in CORS preflight");
}

/**
 * The routes that OpenVINO Model Server adds to TensorFlow Serving's API: the states of all models, and a look at the
 * configuration and the version folders, which answers 201 where it has changed anything, else 200.
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
  const names = new Set(service.index().map(({ model }) => model));
  return Object.fromEntries(Array.from(names, (model) => [model, modelStatus(service, { model })]));
}
