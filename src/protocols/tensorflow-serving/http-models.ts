import type { ProtocolSettings } from "../../platform/limits/settings/server-settings.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpRoute, RouteHandler } from "../../proxy/http-route.ts";
import type { InferenceService, ModelRef } from "../../serving/inference-service.ts";
import { type ModelDetail, modelDetail } from "../simple-tensorflow-serving/model-detail.ts";
import { toJson } from "./http-json.ts";
import { malformedRequest } from "./malformed-request.ts";
import { modelMetadata, toOpenvinoMetadata } from "./model-metadata.ts";
import { type ModelStatus, modelStatus } from "./model-status.ts";
import { isOfKserve, readyStatus } from "./ready-status.ts";
import { toModelRef } from "./url-model-ref.ts";

/** The whole URL, query string included: `/v1/models/NAME[/versions/V | /labels/L][/metadata]`. */
const MODEL = /^\/v1\/models\/([^/:?]+)(?:\/versions\/(\d+)|\/labels\/([^/:?]+))?(?:\/metadata)?\/?(?:\?|$)/i;
const PATHS = ["/v1/models/:name", "/v1/models/:name/versions/:version", "/v1/models/:name/labels/:label"];

/**
 * The routes that list the models, the states of a model's versions, and its inputs and outputs. Members of Simple
 * TensorFlow Serving come on request alone: clients that read the states as a protobuf message take no others.
 */
export function modelRoutes(service: InferenceService, settings: ProtocolSettings): readonly HttpRoute[] {
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
  const names = new Set(service.index().map(({ model }) => model));
  return Promise.all(Array.from(names, (model) => withDetail(service, model)));
}

/** The status is read last, as a model may go meanwhile. */
async function withDetail(service: InferenceService, model: string): Promise<ModelDetail & ModelStatus> {
  const detail = await modelDetail(service, model);
  return { ...detail, ...modelStatus(service, { model }) };
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
