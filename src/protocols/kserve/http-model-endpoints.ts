import { HttpError } from "../../proxy/http-errors.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { modelItself } from "../../serving/model-itself.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import { jsonAnswer } from "../text-answer.ts";
import type { KserveCall, KserveEndpoint } from "./http-endpoint.ts";
import { answerInfer } from "./http-infer.ts";
import { MODEL_TRACE_ENDPOINTS } from "./http-settings-endpoints.ts";
import { modelConfig } from "./model-config.ts";
import { modelMetadata } from "./model-metadata.ts";
import { describeModel, isModelReady, toModelRef } from "./model-ref.ts";
import { modelStatistics } from "./model-statistics.ts";
import { MODEL_READY_SCHEMAS, MODEL_SCHEMAS } from "./openapi-schemas.ts";

/** Calls about one model, after the path of the model, or of one version of it. */
export const MODEL_ENDPOINTS: readonly KserveEndpoint[] = [
  {
    method: "GET",
    kind: "read",
    path: "",
    summary: "Describe a model",
    schemas: MODEL_SCHEMAS,
    answer: async (call) => jsonAnswer(withNotes(call.service, await find(call))),
  },
  {
    method: "GET",
    kind: "health",
    path: "/ready",
    summary: "Tell whether a model is ready",
    schemas: MODEL_READY_SCHEMAS,
    answer: async (call) => {
      const found = await find(call);
      if (!isModelReady(call.service, found)) throw new HttpError(400, "Model version not ready");
      return jsonAnswer({ name: found.model, ready: true });
    },
  },
  {
    method: "POST",
    kind: "inference",
    path: "/infer",
    summary: "Run a model",
    answer: answerInfer,
  },
  {
    method: "GET",
    kind: "read",
    path: "/config",
    summary: "Get a model's configuration",
    answer: async (call) => jsonAnswer(modelConfig(await find(call))),
  },
  {
    method: "GET",
    kind: "read",
    path: "/stats",
    summary: "Get a model's statistics",
    answer: async ({ service, model, version }) =>
      jsonAnswer({ model_stats: await modelStatistics(service, toModelRef(model, version)) }),
  },
  ...MODEL_TRACE_ENDPOINTS,
];

/** The metadata, and OpenVINO Model Server's member with the notes of an IR where clients see the model itself. */
function withNotes(service: InferenceService, description: ServableDescription): object {
  const notes = modelItself(description)?.modelInfo;
  const metadata = modelMetadata(service, description);
  return notes === undefined ? metadata : { ...metadata, rt_info: { model_info: notes } };
}

function find({ service, model, version }: KserveCall): Promise<ServableDescription> {
  return describeModel(service, toModelRef(model, version));
}
