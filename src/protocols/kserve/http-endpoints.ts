import { HttpError } from "../../proxy/http-errors.ts";
import { EVENTS } from "../../proxy/part-form.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { modelItself, type ServableDescription } from "../../serving/servable-description.ts";
import { knownInputs } from "../../tensor/signature/signature.ts";
import { jsonAnswer } from "../text-answer.ts";
import {
  MODEL_TRACE_ENDPOINTS,
  REGION_ENDPOINTS,
  REPOSITORY_ENDPOINTS,
  SETTINGS_ENDPOINTS,
} from "./http-admin-endpoints.ts";
import type { KserveCall, KserveEndpoint } from "./http-endpoint.ts";
import { answerGenerate, answerGenerateStream, answerInfer, answerInferStream } from "./http-infer.ts";
import { modelConfig } from "./model-config.ts";
import { defaultSignature, modelMetadata } from "./model-metadata.ts";
import { describeModel, isModelReady, toModelRef } from "./model-ref.ts";
import { modelStatistics } from "./model-statistics.ts";
import { DOCUMENT, documentPath, exampleRequest, modelDocument, openApiDocument } from "./openapi.ts";
import {
  GENERATE_SCHEMAS,
  LIVE_SCHEMAS,
  MODEL_READY_SCHEMAS,
  MODEL_SCHEMAS,
  MODELS_SCHEMAS,
  READY_SCHEMAS,
  SERVER_SCHEMAS,
} from "./openapi-schemas.ts";
import { serverMetadata } from "./server-metadata.ts";

const POST = { method: "POST", kind: "inference" } as const;
const IN_PARTS = { inParts: true, contentType: EVENTS.contentType } as const;

/** Calls of models that answer in parts, after the path of a model, or of one version of it. */
const PART_ENDPOINTS: readonly KserveEndpoint[] = [
  {
    ...POST,
    ...IN_PARTS,
    path: "/infer_stream",
    summary: "Run a model, and get each part of its answer as it is made",
    answer: answerInferStream,
  },
  {
    ...POST,
    path: "/generate",
    summary: "Run a model with its inputs as keys",
    schemas: GENERATE_SCHEMAS,
    answer: answerGenerate,
  },
  {
    ...POST,
    ...IN_PARTS,
    path: "/generate_stream",
    summary: "Run a model with its inputs as keys, and get each part of its answer as it is made",
    schemas: { body: GENERATE_SCHEMAS.body ?? {} },
    answer: answerGenerateStream,
  },
];

/** Calls about one model, after the path of the model, or of one version of it. */
const MODEL_ENDPOINTS: readonly KserveEndpoint[] = [
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
  ...PART_ENDPOINTS,
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
  {
    method: "GET",
    kind: "read",
    path: DOCUMENT,
    summary: "Get the document of a model alone",
    answer: async (call) => jsonAnswer(await modelDocument(MODEL_ENDPOINTS, call)),
  },
];

/** Characters of a request in metadata; a wide model's would be longer than all else in them. */
const MAX_SAMPLE = 4096;
/** Inputs of a model whose requests are that short. */
const MAX_SAMPLED_INPUTS = 32;

/**
 * The metadata with a request as text, among the parameters that MLServer has there, or with the path of the document
 * that has a longer one; and OpenVINO Model Server's member with the notes of an IR if clients see the model itself.
 */
function withNotes(service: InferenceService, description: ServableDescription): object {
  const notes = modelItself(description)?.modelInfo;
  const signature = defaultSignature(description);
  const isNarrow = (knownInputs(signature)?.length ?? 0) <= MAX_SAMPLED_INPUTS;
  const sample = JSON.stringify((isNarrow && exampleRequest(signature)) || null);
  const isShort = isNarrow && sample.length <= MAX_SAMPLE;
  const parameters = isShort ? { sample_request: sample } : { docs: documentPath(description.model) };
  return {
    ...modelMetadata(service, description),
    ...(!(isShort && sample === "null") && { parameters }),
    ...(notes && { rt_info: { model_info: notes } }),
  };
}

function find({ service, model, version }: KserveCall): Promise<ServableDescription> {
  return describeModel(service, toModelRef(model, version));
}

/** All endpoints under `/v2`, in the order in which paths are matched. */
export const KSERVE_ENDPOINTS: readonly KserveEndpoint[] = [
  {
    method: "GET",
    kind: "read",
    path: "/v2",
    summary: "Describe the server",
    schemas: SERVER_SCHEMAS,
    answer: async ({ sharedMemory }) => jsonAnswer(serverMetadata(sharedMemory !== undefined)),
  },
  {
    method: "GET",
    kind: "read",
    path: "/v2/openapi.json",
    summary: "Get this document",
    answer: async ({ service }) => jsonAnswer(await openApiDocument(KSERVE_ENDPOINTS, service)),
  },
  {
    method: "GET",
    kind: "health",
    path: "/v2/health/live",
    summary: "Tell whether the server lives",
    schemas: LIVE_SCHEMAS,
    answer: async () => jsonAnswer({ live: true }),
  },
  {
    method: "GET",
    kind: "health",
    path: "/v2/health/ready",
    summary: "Tell whether the server is ready",
    schemas: READY_SCHEMAS,
    answer: async ({ service }) => {
      if (!service.isReady()) throw new HttpError(400, "Server is not ready");
      return jsonAnswer({ ready: true });
    },
  },
  {
    method: "GET",
    kind: "read",
    path: "/v2/models",
    summary: "List the models",
    schemas: MODELS_SCHEMAS,
    answer: async ({ service }) => jsonAnswer({ models: [...new Set(service.index().map(({ model }) => model))] }),
  },
  {
    method: "GET",
    kind: "read",
    path: "/v2/models/stats",
    summary: "Get the statistics of all models",
    answer: async ({ service }) => jsonAnswer({ model_stats: await modelStatistics(service, { model: "" }) }),
  },
  ...["/v2/models/{name}", "/v2/models/{name}/versions/{version}"].flatMap((prefix) =>
    MODEL_ENDPOINTS.map((endpoint) => ({ ...endpoint, path: prefix + endpoint.path })),
  ),
  ...REPOSITORY_ENDPOINTS,
  ...SETTINGS_ENDPOINTS,
  ...REGION_ENDPOINTS,
];
