import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpRoute, PathParameters } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import type { Protocol } from "../protocol.ts";
import { malformedRequest } from "../tensorflow-serving/malformed-request.ts";
import { readyStatus } from "../tensorflow-serving/model-status.ts";
import { jsonAnswer } from "../text-answer.ts";

/**
 * KServe's V1 protocol where it differs from TensorFlow Serving's, whose predictions it shares: liveness, the list of
 * models, the readiness of one.
 */
export const kserveV1: Protocol = {
  name: "kserve-v1",
  http: ({ service, settings }) => ({
    inference: [],
    routes: settings.kserveRoutes ? routesOf(service) : [],
    // Those of TensorFlow Serving, whose URLs of predictions look like a model's.
    refuse: malformedRequest,
  }),
};

function routesOf(service: InferenceService): readonly HttpRoute[] {
  return [
    { method: "GET", path: "/", kind: "read", answer: async () => jsonAnswer({ status: "alive" }) },
    { method: "GET", path: "/v1/models", kind: "read", answer: async () => jsonAnswer({ models: namesOf(service) }) },
    {
      method: "GET",
      path: "/v1/models/:name",
      kind: "read",
      answer: (exchange, names) => answerReady(service, exchange, names),
    },
  ];
}

function namesOf(service: InferenceService): readonly string[] {
  return [...new Set(service.index().map(({ model }) => model))];
}

/** Clients of TensorFlow Serving ask for the same URL, so that its answer is there too. */
async function answerReady(
  service: InferenceService,
  { request }: HttpExchange,
  { name = "" }: PathParameters,
): Promise<HttpAnswer> {
  if (name.includes(":")) throw malformedRequest(request);
  return jsonAnswer(readyStatus(service, name));
}
