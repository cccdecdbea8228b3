import { failedPrecondition, ServingError } from "../../errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { CreateHttpProtocol, HttpAnswer, InferenceRoute } from "../../proxy/http-route.ts";
import { answerExamples } from "./examples/http-examples.ts";
import { configRoutes } from "./http-config.ts";
import { modelRoutes } from "./http-models.ts";
import { answerPredict, type PredictRequest } from "./http-predict.ts";
import { malformedRequest } from "./malformed-request.ts";
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
