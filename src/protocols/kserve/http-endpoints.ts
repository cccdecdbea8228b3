import { isJsonList, type JsonObject, type JsonValue } from "../../codecs/json/json-value.ts";
import { ServingError } from "../../errors.ts";
import { DecodeBudget } from "../../limits/decode-budget.ts";
import { HttpError } from "../../proxy/http-errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import type { ServableDescription } from "../../serving/inference-service.ts";
import { reloadModel, unloadModel } from "./control.ts";
import type { KserveCall, KserveEndpoint } from "./http-endpoint.ts";
import { answerInfer } from "./http-infer.ts";
import { parseKserveObject, toParameters } from "./http-request.ts";
import { SHARED_MEMORY_ENDPOINTS } from "./http-shared-memory.ts";
import { changeLogging, logSettings } from "./log-settings.ts";
import { modelConfig } from "./model-config.ts";
import { modelMetadata } from "./model-metadata.ts";
import { describeModel, isModelReady, toModelRef } from "./model-ref.ts";
import { modelStatistics } from "./model-statistics.ts";
import { openApiDocument } from "./openapi.ts";
import {
  CONTROL_SCHEMAS,
  INDEX_SCHEMAS,
  LIVE_SCHEMAS,
  LOG_SCHEMAS,
  MODEL_READY_SCHEMAS,
  MODEL_SCHEMAS,
  MODELS_SCHEMAS,
  READY_SCHEMAS,
  SERVER_SCHEMAS,
  TRACE_SCHEMAS,
} from "./openapi-schemas.ts";
import { repositoryIndex } from "./repository-index.ts";
import { serverMetadata } from "./server-metadata.ts";
import { changeTracing, TRACE_SETTINGS } from "./trace-settings.ts";

/** Every endpoint that needs no version: each of them is there with `/versions/{version}` too. */
const MODEL_ENDPOINTS: readonly KserveEndpoint[] = [
  {
    method: "GET",
    kind: "read",
    path: "",
    summary: "Describe a model",
    schemas: MODEL_SCHEMAS,
    answer: async (call) => toJson(modelMetadata(call.service, await find(call))),
  },
  {
    method: "GET",
    kind: "read",
    path: "/ready",
    summary: "Tell whether a model is ready",
    schemas: MODEL_READY_SCHEMAS,
    answer: async (call) => {
      const found = await find(call);
      if (!isModelReady(call.service, found)) throw new HttpError(400, "Model version not ready");
      return toJson({ name: found.model, ready: true });
    },
  },
  {
    method: "POST",
    kind: "inference",
    path: "/infer",
    summary: "Run a model",
    answer: (call) => answerInfer(call.service, call, call.exchange),
  },
  {
    method: "GET",
    kind: "read",
    path: "/config",
    summary: "Get a model's configuration",
    answer: async (call) => toJson(modelConfig(await find(call))),
  },
  {
    method: "GET",
    kind: "read",
    path: "/stats",
    summary: "Get a model's statistics",
    answer: async ({ service, model, version }) =>
      toJson({ model_stats: await modelStatistics(service, toModelRef(model, version)) }),
  },
  {
    method: "GET",
    kind: "read",
    path: "/trace/setting",
    summary: "Get a model's trace settings",
    schemas: TRACE_SCHEMAS,
    answer: answerTracing,
  },
  {
    method: "POST",
    kind: "control",
    path: "/trace/setting",
    summary: "Change a model's trace settings",
    schemas: TRACE_SCHEMAS,
    answer: answerNewTracing,
  },
];

/** Everything under `/v2`, in the order in which paths are tried. */
export const KSERVE_ENDPOINTS: readonly KserveEndpoint[] = [
  {
    method: "GET",
    kind: "read",
    path: "/v2",
    summary: "Describe the server",
    schemas: SERVER_SCHEMAS,
    answer: async () => toJson(serverMetadata()),
  },
  {
    method: "GET",
    kind: "read",
    path: "/v2/openapi.json",
    summary: "Get this document",
    answer: async ({ service }) => toJson(await openApiDocument(KSERVE_ENDPOINTS, service)),
  },
  {
    method: "GET",
    kind: "read",
    path: "/v2/health/live",
    summary: "Tell whether the server lives",
    schemas: LIVE_SCHEMAS,
    answer: async () => toJson({ live: true }),
  },
  {
    method: "GET",
    kind: "read",
    path: "/v2/health/ready",
    summary: "Tell whether the server is ready",
    schemas: READY_SCHEMAS,
    answer: async ({ service }) => {
      if (!service.isReady()) throw new HttpError(400, "Server is not ready");
      return toJson({ ready: true });
    },
  },
  {
    method: "GET",
    kind: "read",
    path: "/v2/models",
    summary: "List the models",
    schemas: MODELS_SCHEMAS,
    answer: async ({ service }) => toJson({ models: [...new Set(service.index().map(({ model }) => model))] }),
  },
  {
    method: "GET",
    kind: "read",
    path: "/v2/models/stats",
    summary: "Get the statistics of all models",
    answer: async ({ service }) => toJson({ model_stats: await modelStatistics(service, { model: "" }) }),
  },
  ...["/v2/models/{name}", "/v2/models/{name}/versions/{version}"].flatMap((prefix) =>
    MODEL_ENDPOINTS.map((endpoint) => ({ ...endpoint, path: prefix + endpoint.path })),
  ),
  {
    method: "POST",
    kind: "read",
    path: "/v2/repository/index",
    summary: "List all versions and their states",
    schemas: INDEX_SCHEMAS,
    answer: answerIndex,
  },
  {
    method: "POST",
    kind: "control",
    path: "/v2/repository/models/{name}/load",
    isEmpty: true,
    summary: "Load a model anew",
    schemas: CONTROL_SCHEMAS,
    answer: async (call) => {
      const { parameters } = await readObject(call.exchange);
      await reloadModel(call.service, call.model, toParameters(parameters));
      return EMPTY;
    },
  },
  {
    method: "POST",
    kind: "control",
    path: "/v2/repository/models/{name}/unload",
    isEmpty: true,
    summary: "Unload a model",
    schemas: CONTROL_SCHEMAS,
    answer: async (call) => {
      await readObject(call.exchange);
      await unloadModel(call.service, call.model);
      return EMPTY;
    },
  },
  {
    method: "GET",
    kind: "read",
    path: "/v2/logging",
    summary: "Get the log settings",
    schemas: LOG_SCHEMAS,
    answer: async ({ log }) => toJson(logSettings(log)),
  },
  {
    method: "POST",
    kind: "control",
    path: "/v2/logging",
    summary: "Change the log settings",
    schemas: LOG_SCHEMAS,
    answer: async (call) => {
      const changes = Object.entries(await readObject(call.exchange)).filter(([, value]) => value !== null);
      changeLogging(call.log, toParameters(Object.fromEntries(changes)));
      return toJson(logSettings(call.log));
    },
  },
  {
    method: "GET",
    kind: "read",
    path: "/v2/trace/setting",
    summary: "Get the trace settings",
    schemas: TRACE_SCHEMAS,
    answer: answerTracing,
  },
  {
    method: "POST",
    kind: "control",
    path: "/v2/trace/setting",
    summary: "Change the trace settings",
    schemas: TRACE_SCHEMAS,
    answer: answerNewTracing,
  },
  ...SHARED_MEMORY_ENDPOINTS,
];

function find({ service, model, version }: KserveCall): Promise<ServableDescription> {
  return describeModel(service, toModelRef(model, version));
}

async function answerTracing(call: KserveCall): Promise<HttpAnswer> {
  if (call.model !== "") await find(call);
  return toJson(TRACE_SETTINGS);
}

async function answerNewTracing(call: KserveCall): Promise<HttpAnswer> {
  const changes = Object.entries(await readObject(call.exchange));
  const answer = await answerTracing(call);
  changeTracing(new Map(changes.map(([name, value]) => [name, toTexts(name, value)])));
  return answer;
}

/** The values of a trace setting: null = back to the default, a text, or several. */
function toTexts(name: string, value: JsonValue): readonly string[] {
  const values = value === null ? [] : isJsonList(value) ? value : [value];
  return values.map((one) => {
    if (typeof one === "string") return one;
    throw new ServingError("invalid_argument", `Unable to parse '${name}': expected a string, or a list of strings`);
  });
}

async function answerIndex({ service, exchange }: KserveCall): Promise<HttpAnswer> {
  const { ready = false } = await readObject(exchange);
  if (typeof ready === "boolean") return toJson(repositoryIndex(service, ready));
  throw new ServingError("invalid_argument", "Invalid value for 'ready': expected a boolean");
}

/** A body that may be left out. */
async function readObject(exchange: HttpExchange): Promise<JsonObject> {
  const body = await exchange.readSmallBody();
  return body.length === 0 ? {} : parseKserveObject(body, new DecodeBudget(exchange.maxMessageBytes));
}

/** What changes the server answers with its status alone. */
const EMPTY: HttpAnswer = { contentType: "application/json", body: new Uint8Array(0) };

function toJson(value: unknown): HttpAnswer {
  return { contentType: "application/json", body: Buffer.from(JSON.stringify(value)) };
}
