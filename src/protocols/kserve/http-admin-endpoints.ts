import { invalidArgument } from "../../errors.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import { isJsonList, type JsonValue } from "../../tensor/codecs/json/json-value.ts";
import { jsonAnswer } from "../text-answer.ts";
import { reloadModel, unloadModel } from "./control.ts";
import type { KserveCall, KserveEndpoint } from "./http-endpoint.ts";
import { readObject, toParameters } from "./http-request.ts";
import { decodeHttpLoad, decodeHttpLoadJob, type LoadParameters } from "./load-request.ts";
import { changeLogging, logSettings } from "./log-settings.ts";
import { describeModel, toModelRef } from "./model-ref.ts";
import {
  CONTROL_SCHEMAS,
  INDEX_SCHEMAS,
  LOG_SCHEMAS,
  REGION_SCHEMAS,
  REGISTER_SCHEMAS,
  TRACE_SCHEMAS,
} from "./openapi-schemas.ts";
import {
  listRegions,
  registerRegion,
  SHARED_MEMORY_KINDS,
  type SharedMemoryKind,
  unregisterRegions,
} from "./region-calls.ts";
import { repositoryIndex } from "./repository-index.ts";
import { changeTracing, traceSettings } from "./trace-settings.ts";

/** Calls that list, load and unload models. */
export const REPOSITORY_ENDPOINTS: readonly KserveEndpoint[] = [
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
    summary: "Load a model again",
    schemas: CONTROL_SCHEMAS,
    answer: async (call) => {
      await reloadModel(call.service, call.model, await readHttpLoad(call.exchange));
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
      const { parameters } = await readObject(call.exchange);
      await unloadModel(call.service, call.model, toParameters(parameters));
      return EMPTY;
    },
  },
];

async function readHttpLoad(exchange: HttpExchange): Promise<LoadParameters> {
  const body = await exchange.readBody();
  const { maxMessageBytes } = exchange;
  if (body.length <= LARGE_MESSAGE_BYTES) return decodeHttpLoad(body, maxMessageBytes);
  return exchange.decode(decodeHttpLoadJob, [body, maxMessageBytes], body);
}

async function answerIndex({ service, exchange }: KserveCall): Promise<HttpAnswer> {
  const ready = (await readObject(exchange)).ready ?? false;
  if (typeof ready === "boolean") return jsonAnswer(repositoryIndex(service, ready));
  throw invalidArgument("Invalid value for 'ready': expected a boolean");
}

/**
 * Calls about regions of shared memory. Clients that may run models may register regions: it changes only where their
 * tensors are.
 */
export const REGION_ENDPOINTS: readonly KserveEndpoint[] = SHARED_MEMORY_KINDS.flatMap((kind) => [
  ...[`/v2/${kind}sharedmemory`, regionPath(kind)].flatMap((path) => endpointsOf(kind, path)),
  {
    method: "POST",
    kind: "inference",
    path: `${regionPath(kind)}/register`,
    isEmpty: true,
    summary: `Register a region of ${kind} shared memory`,
    schemas: REGISTER_SCHEMAS,
    answer: async ({ region, exchange, sharedMemory }) => {
      registerRegion(kind, region, toParameters(await readObject(exchange)), sharedMemory);
      return EMPTY;
    },
  },
]);

function regionPath(kind: SharedMemoryKind): string {
  return `/v2/${kind}sharedmemory/region/{region}`;
}

function endpointsOf(kind: SharedMemoryKind, prefix: string): readonly KserveEndpoint[] {
  return [
    {
      method: "GET",
      kind: "read",
      path: `${prefix}/status`,
      summary: `List regions of ${kind} shared memory`,
      schemas: REGION_SCHEMAS,
      answer: async ({ region, sharedMemory }) => jsonAnswer(listRegions(kind, region, sharedMemory)),
    },
    {
      method: "POST",
      kind: "inference",
      path: `${prefix}/unregister`,
      isEmpty: true,
      summary: `Unregister regions of ${kind} shared memory`,
      answer: async ({ region, sharedMemory }) => {
        unregisterRegions(kind, region, sharedMemory);
        return EMPTY;
      },
    },
  ];
}

/** An answer that is only a status. */
const EMPTY: HttpAnswer = { contentType: "application/json", body: new Uint8Array(0) };

/** Calls about the settings of logging and tracing. */
export const SETTINGS_ENDPOINTS: readonly KserveEndpoint[] = [
  {
    method: "GET",
    kind: "read",
    path: "/v2/logging",
    summary: "Get the log settings",
    schemas: LOG_SCHEMAS,
    answer: async ({ log }) => jsonAnswer(logSettings(log)),
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
      return jsonAnswer(logSettings(call.log));
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
];

/** Calls about a model's trace settings, after the path of the model. */
export const MODEL_TRACE_ENDPOINTS: readonly KserveEndpoint[] = [
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

async function answerTracing(call: KserveCall): Promise<HttpAnswer> {
  if (call.model !== "") await describeModel(call.service, toModelRef(call.model, call.version));
  return jsonAnswer(traceSettings(call.tracer?.sampling));
}

async function answerNewTracing(call: KserveCall): Promise<HttpAnswer> {
  const changes = Object.entries(await readObject(call.exchange));
  await answerTracing(call);
  const texts = new Map(changes.map(([name, value]) => [name, toTexts(name, value)]));
  changeTracing(texts, call.tracer?.sampling, call.model);
  return answerTracing(call);
}

/** The values of a trace setting: null = back to the default, a text, or several. */
function toTexts(name: string, value: JsonValue): readonly string[] {
  const values = value === null ? [] : isJsonList(value) ? value : [value];
  return values.map((one) => {
    if (typeof one === "string") return one;
    throw invalidArgument(`Unable to parse '${name}': expected a string, or a list of strings`);
  });
}
