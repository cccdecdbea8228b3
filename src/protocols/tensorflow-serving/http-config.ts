import type { HttpAnswer, HttpRoute } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { toJson } from "./http-json.ts";
import { type ModelStatus, modelStatus } from "./model-status.ts";

/**
 * The routes that OpenVINO Model Server adds to TensorFlow Serving's API: the states of all models, and a look at the
 * configuration and the version folders, which answers 201 where it has changed anything, else 200.
 * https://docs.openvino.ai/2025/model-server/ovms_docs_rest_api_tfs.html
 */
export function configRoutes(service: InferenceService): readonly HttpRoute[] {
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
