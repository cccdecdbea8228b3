import type { EndpointSchemas } from "../endpoint-paths.ts";

const TEXT = { type: "string" };
const TEXTS = { type: "array", items: TEXT };
const SIZE = { type: "integer", minimum: 0 };
const PARAMETERS = { $ref: "#/components/schemas/InferParameters" };

function object(properties: Readonly<Record<string, object>>, optional: Readonly<Record<string, object>> = {}): object {
  return { type: "object", required: Object.keys(properties), properties: { ...properties, ...optional } };
}

/** Notes of an IR's exporter: `{ "model_info": { "labels": "cat dog" } }`. */
const NOTES = { type: "object", additionalProperties: { type: "object" } };

const TENSORS = {
  type: "array",
  items: {
    type: "object",
    required: ["name", "datatype", "shape"],
    properties: {
      name: TEXT,
      datatype: TEXT,
      shape: { type: "array", items: { type: "integer", minimum: -1 } },
      parameters: PARAMETERS,
    },
  },
};

const LOG_SETTINGS = {
  log_error: { type: "boolean" },
  log_warning: { type: "boolean" },
  log_info: { type: "boolean" },
  log_verbose_level: { type: "integer", minimum: 0 },
  log_format: { const: "default" },
};

const LEVEL = { enum: ["OFF", "TIMESTAMPS"] };
const ONE_OR_MORE = (items: object) => ({ anyOf: [items, { type: "array", items }, { type: "null" }] });
const NUMBER_TEXT = { type: "string", pattern: "^-?\\d+$" };

/** Schemas of the server's own facts. */
export const SERVER_SCHEMAS: EndpointSchemas = { answer: object({ name: TEXT, version: TEXT, extensions: TEXTS }) };
/** Answer about the server's liveness. */
export const LIVE_SCHEMAS: EndpointSchemas = { answer: object({ live: { const: true } }) };
/** Answer about the server's readiness. */
export const READY_SCHEMAS: EndpointSchemas = { answer: object({ ready: { const: true } }) };
/** Answer about a model's readiness. */
export const MODEL_READY_SCHEMAS: EndpointSchemas = { answer: object({ name: TEXT, ready: { const: true } }) };
/** The names of the models. */
export const MODELS_SCHEMAS: EndpointSchemas = { answer: object({ models: TEXTS }) };
/** A model's inputs and outputs. */
export const MODEL_SCHEMAS: EndpointSchemas = {
  answer: object(
    { name: TEXT, versions: TEXTS, platform: TEXT, inputs: TENSORS, outputs: TENSORS },
    { rt_info: NOTES, parameters: PARAMETERS },
  ),
};
const VALUE = { type: ["string", "number", "boolean", "array", "object"] };

/** Inputs as keys, and outputs as keys of an answer or of each part of one. */
export const GENERATE_SCHEMAS: EndpointSchemas = {
  body: {
    type: "object",
    properties: { id: { type: ["string", "number"] }, parameters: { type: "object", additionalProperties: VALUE } },
    additionalProperties: VALUE,
  },
  answer: {
    ...object({ model_name: TEXT, model_version: TEXT }, { id: TEXT }),
    additionalProperties: VALUE,
  },
};
/** The existing versions. */
export const INDEX_SCHEMAS: EndpointSchemas = {
  body: { type: "object", properties: { ready: { type: "boolean" } } },
  answer: {
    type: "array",
    items: object({ name: TEXT, version: TEXT, state: { enum: ["READY", "UNAVAILABLE"] }, reason: TEXT }),
  },
};
/** Loading and unloading. */
export const CONTROL_SCHEMAS: EndpointSchemas = { body: { type: "object", properties: { parameters: PARAMETERS } } };
/** The registered regions of shared memory. */
export const REGION_SCHEMAS: EndpointSchemas = {
  answer: { type: "array", items: object({ name: TEXT, key: TEXT, offset: SIZE, byte_size: SIZE }) },
};
/** Registering a region. */
export const REGISTER_SCHEMAS: EndpointSchemas = {
  body: { type: "object", required: ["key", "byte_size"], properties: { key: TEXT, offset: SIZE, byte_size: SIZE } },
};
/** Schemas of the log settings. */
export const LOG_SCHEMAS: EndpointSchemas = {
  body: { type: "object", properties: LOG_SETTINGS, additionalProperties: false },
  answer: object(LOG_SETTINGS),
};
/** Schemas of the trace settings. */
export const TRACE_SCHEMAS: EndpointSchemas = {
  body: {
    type: "object",
    properties: {
      trace_level: ONE_OR_MORE(LEVEL),
      trace_rate: ONE_OR_MORE(NUMBER_TEXT),
      trace_count: ONE_OR_MORE(NUMBER_TEXT),
      log_frequency: ONE_OR_MORE(NUMBER_TEXT),
    },
    additionalProperties: false,
  },
  answer: { type: "object", properties: { trace_level: { type: "array", items: LEVEL } } },
};
