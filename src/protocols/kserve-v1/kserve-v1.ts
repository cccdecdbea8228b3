import { ServingError } from "../../errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpRoute, PathParameters } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { jsonAnswer } from "../json-answer.ts";
import type { Protocol } from "../protocol.ts";
import { malformedRequest } from "../tensorflow-serving/malformed-request.ts";
import { type ModelStatus, modelStatus } from "../tensorflow-serving/model-status.ts";

/**
 * KServe's V1 protocol where it differs from TensorFlow Serving's, whose predictions it shares: liveness, the list of
 * models, the readiness of one.
 */
export const kserveV1: Protocol = {
  name: "kserve-v1",
  http: ({ service, kserveRoutes: isOn = false }) => ({
    inference: [],
    routes: isOn ? routesOf(service) : [],
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

/** Throws `unavailable` for a model that is not ready, `not_found` for an unknown one. */
async function answerReady(
  service: InferenceService,
  { request }: HttpExchange,
  { name = "" }: PathParameters,
): Promise<HttpAnswer> {
  if (name.includes(":")) throw malformedRequest(request);
  const status = statusOf(service, name);
  const own = service.nameOf?.(name) ?? name;
  // One that is available may lack its threads, or another model.
  const isReady = service.index().some((one) => one.model === own && one.state === "AVAILABLE" && one.isReady);
  if (!isReady) throw new ServingError("unavailable", `Model with name ${name} is not ready.`);
  // Clients of TensorFlow Serving ask for the same URL.
  return jsonAnswer({ name, ready: true, ...status });
}

function statusOf(service: InferenceService, model: string): ModelStatus {
  try {
    return modelStatus(service, { model });
  } catch (cause) {
    throw new ServingError("not_found", `Model with name ${model} does not exist.`, { cause });
  }
}
