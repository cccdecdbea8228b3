import { invalidArgument } from "../../errors.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import { isJsonList, type JsonValue } from "../../tensor/codecs/json/json-value.ts";
import { jsonAnswer } from "../text-answer.ts";
import type { KserveCall, KserveEndpoint } from "./http-endpoint.ts";
import { toParameters } from "./http-request.ts";
import { changeLogging, logSettings } from "./log-settings.ts";
import { describeModel, toModelRef } from "./model-ref.ts";
import { LOG_SCHEMAS, TRACE_SCHEMAS } from "./openapi-schemas.ts";
import { readObject } from "./read-object.ts";
import { changeTracing, traceSettings } from "./trace-settings.ts";

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
