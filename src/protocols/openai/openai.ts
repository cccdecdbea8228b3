import type { IncomingMessage } from "node:http";
import type { ProtocolSettings } from "../../platform/limits/settings/server-settings.ts";
import { nearest } from "../../platform/text/nearest.ts";
import { HttpError } from "../../proxy/http-errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpRoute, InferenceRoute } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { type Endpoint, endpointPaths, type Paths } from "../endpoint-paths.ts";
import { modelNotFound } from "../kserve/model-ref.ts";
import type { Protocol } from "../protocol.ts";
import { type ModelStatus, modelStatus, withDetail } from "../tensorflow-serving/model-status.ts";
import { jsonAnswer } from "../text-answer.ts";
import { openaiError } from "./openai-error.ts";

/**
 * OpenAI's API over functions of hooks, also at the paths of OpenVINO Model Server (`/v3`) and KServe (`/openai/v1`):
 * https://platform.openai.com/docs/api-reference. `rerank` is Cohere's and Jina's.
 */
export const openai: Protocol = {
  name: "openai",
  http: ({ service, settings }) => ({
    inference: ROUTES.map((route) => toInferenceRoute(route, service)),
    routes: modelRoutes(service, settings),
    prefix: new RegExp(`^/(?:v3|openai/v1|v1/(?:${OWN}))(?:/|$)`),
    refuse,
    errorForm: openaiError,
  }),
};

/** Beginnings behind `/v1` that are OpenAI's alone, those among them of routes that there are not. */
const OWN =
  "chat|completions|embeddings|rerank|score|tokenize|detokenize|responses|conversations|audio|images|videos|moderations|files|uploads|batches|" +
  "fine_tuning|assistants|threads|vector_stores|realtime";

/** Beginnings of the API's paths; the first one names its routes. */
const BASES = ["/v1", "/v3", "/openai/v1"];

interface OpenaiRoute {
  /** Behind a base. */
  readonly path: string;
  readonly bases: readonly string[];
  readonly inParts: NonNullable<InferenceRoute["inParts"]>;
  readonly isUntold?: InferenceRoute["isUntold"];
  readonly answer: (exchange: HttpExchange, service: InferenceService) => Promise<HttpAnswer>;
}

const importMedia = () => import("./answer-media.ts");

// Loaded with the first request: most servers have none of them.
const ROUTES: readonly OpenaiRoute[] = [
  {
    ...{ path: "/chat/completions", bases: BASES, inParts: true },
    answer: async (...call) => (await import("./openai-text.ts")).answerOpenai(...call, "chat"),
  },
  {
    ...{ path: "/completions", bases: BASES, inParts: true },
    answer: async (...call) => (await import("./openai-text.ts")).answerOpenai(...call, "completion"),
  },
  {
    ...{ path: "/responses", bases: BASES, inParts: true },
    answer: async (...call) => (await import("./openai-text.ts")).answerOpenai(...call, "response"),
  },
  {
    ...{ path: "/embeddings", bases: BASES, inParts: "possible" },
    answer: async (...call) => (await import("./answer-numbers.ts")).answerEmbeddings(...call),
  },
  {
    ...{ path: "/rerank", bases: [...BASES, "/v2", ""], inParts: "possible" },
    answer: async (...call) => (await import("./answer-numbers.ts")).answerRerank(...call),
  },
  {
    ...{ path: "/score", bases: [...BASES, ""], inParts: "possible" },
    answer: async (...call) => (await import("./answer-numbers.ts")).answerScore(...call),
  },
  {
    ...{ path: "/tokenize", isUntold: true, bases: [...BASES, ""], inParts: "possible" },
    answer: async (...call) => (await import("./answer-numbers.ts")).answerTokens(...call),
  },
  {
    ...{ path: "/detokenize", isUntold: true, bases: [...BASES, ""], inParts: "possible" },
    answer: async (...call) => (await import("./answer-numbers.ts")).answerTokenText(...call),
  },
  {
    ...{ path: "/audio/transcriptions", isUntold: true, bases: BASES, inParts: true },
    answer: async (...call) => (await importMedia()).answerTranscription(...call, "transcribe"),
  },
  {
    ...{ path: "/audio/translations", isUntold: true, bases: BASES, inParts: true },
    answer: async (...call) => (await importMedia()).answerTranscription(...call, "translate"),
  },
  {
    ...{ path: "/audio/speech", isUntold: true, bases: BASES, inParts: true },
    answer: async (...call) => (await importMedia()).answerSpeech(...call),
  },
  {
    ...{ path: "/images/generations", isUntold: true, bases: BASES, inParts: "possible" },
    answer: async (...call) => (await importMedia()).answerImages(...call),
  },
];

function toInferenceRoute(
  { path, bases, inParts, isUntold, answer }: OpenaiRoute,
  service: InferenceService,
): InferenceRoute {
  const pattern = new RegExp(`^(?:${bases.join("|")})${path}/?(?:\\?|$)`);
  const handler = (exchange: HttpExchange) => answer(exchange, service);
  return { path: `/v1${path}`, inParts, isUntold, find: (url) => (pattern.test(url) ? handler : undefined) };
}

function refuse({ method, url = "" }: IncomingMessage, methods: readonly string[]): Error {
  const [asked = ""] = url.split("?", 1);
  const isRoute = ROUTES.some(({ path, bases }) => bases.some((base) => base + path === asked));
  const allow = isRoute ? ["POST"] : methods;
  if (allow.length === 0) return noRoute(method, asked);
  return new HttpError(405, `${method} is not possible here; send ${allow[0]}.`, { allow: allow.join(", ") });
}

/** The error for a route that is not there, with those that are, at the same base. */
function noRoute(method: string | undefined, asked: string): HttpError {
  const base = BASES.find((each) => asked.startsWith(`${each}/`)) ?? "/v1";
  const paths = ROUTES.map(({ path }) => base + path);
  const near = nearest(asked, paths);
  const hint = { reason: "UNKNOWN_ROUTE", didYouMean: near && `POST ${near}` } as const;
  const there = `POST ${paths.join(", POST ")}, GET ${base}/models`;
  return new HttpError(404, `There is no ${method} ${asked} here. There is ${there}.`, {}, { hint });
}

/** A model in OpenAI's form. */
interface OpenaiModel {
  readonly id: string;
  readonly object: "model";
  /** Time at which the server was started, in seconds since 1970. */
  readonly created: number;
  readonly owned_by: string;
}

const CREATED = Math.floor(performance.timeOrigin / 1000);

function openaiModel(id: string): OpenaiModel {
  return { id, object: "model", created: CREATED, owned_by: "kserving" };
}

/**
 * The routes that tell of models, in objects that have the members of TensorFlow Serving's too. Under `/v1`, one model
 * is told in this form to OpenAI's own clients alone: those of TensorFlow Serving parse that answer as a message, which
 * bears no further members. The list is in the form of the server that a setting names, except for those clients.
 */
function modelRoutes(service: InferenceService, settings: ProtocolSettings): readonly HttpRoute[] {
  const isOther = settings.kserveRoutes || settings.simpleTensorflowServing;
  const list: HttpRoute["answer"] = async () => {
    const names = [...new Set(service.index().map(({ model }) => model))];
    const data = names.map(async (name) => ({ ...openaiModel(name), ...(await withDetail(service, name)) }));
    return jsonAnswer({ object: "list", data: await Promise.all(data) });
  };
  const one: HttpRoute["answer"] = async ({ record }, { owner, name = "" }) => {
    const model = owner === undefined ? name : `${owner}/${name}`;
    record.model = model;
    return jsonAnswer(describe(service, model));
  };
  const get = { method: "GET", kind: "read" } as const;
  return [
    { ...get, path: "/v1/models", takes: (request) => !isOther || isOfOpenai(request), answer: list },
    { ...get, path: "/v1/models/:name", takes: isOfOpenai, answer: one },
    { ...get, path: "/v1/models/:owner/:name", takes: isOfOpenai, answer: one },
    ...["/v3/models", "/openai/v1/models"].flatMap((path): HttpRoute[] => [
      { ...get, path, answer: list },
      { ...get, path: `${path}/:name`, answer: one },
      { ...get, path: `${path}/:owner/:name`, answer: one },
    ]),
  ];
}

function describe(service: InferenceService, model: string): OpenaiModel & ModelStatus {
  const name = service.nameOf?.(model) ?? model;
  const isThere = service.index().some((one) => one.model === name);
  if (!isThere) throw modelNotFound({ model }, service);
  return { ...openaiModel(model), ...modelStatus(service, { model }) };
}

/** Checks if a request is of one of OpenAI's SDKs. */
function isOfOpenai({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers["x-stainless-lang"] !== undefined;
}

const TEXT = { type: "string" };
const TEXTS = { anyOf: [TEXT, { type: "array", minItems: 1, items: TEXT }] };
const CONTENT = { anyOf: [TEXT, { type: "array", items: { type: "object" } }] };
const MESSAGES = {
  ...{ type: "array", minItems: 1 },
  items: { type: "object", properties: { role: TEXT, content: CONTENT } },
};
const INPUT = { anyOf: [TEXT, { type: "array", minItems: 1, items: { type: "object" } }] };
const STREAM = { type: "boolean", description: "true asks for the parts of the answer as events" };
const CHOICES = { type: "object", properties: { choices: { type: "array" } } };

const SOUND = {
  ...{ type: "object", required: ["file"] },
  properties: { file: { type: "string", format: "binary" }, model: TEXT, response_format: TEXT },
};

/** In OpenAPI; each is at the other bases too. */
const ENDPOINTS: readonly Endpoint[] = [
  {
    ...{ method: "POST", path: "/v1/chat/completions", summary: "Answer a conversation" },
    description: "By the function chat of a model's hook file; also at /v3 and /openai/v1.",
    schemas: {
      body: {
        ...{ type: "object", required: ["messages"] },
        properties: { model: TEXT, messages: MESSAGES, stream: STREAM },
      },
      answer: CHOICES,
    },
  },
  {
    ...{ method: "POST", path: "/v1/completions", summary: "Continue a text" },
    description: "By the function complete of a model's hook file; also at /v3 and /openai/v1.",
    schemas: {
      body: { type: "object", required: ["prompt"], properties: { model: TEXT, prompt: TEXT, stream: STREAM } },
      answer: CHOICES,
    },
  },
  {
    ...{ method: "POST", path: "/v1/responses", summary: "Answer a conversation, in the newer form" },
    description: "By the function chat of a model's hook file; also at /v3 and /openai/v1. No answer is kept.",
    schemas: {
      body: { type: "object", required: ["input"], properties: { model: TEXT, input: INPUT, stream: STREAM } },
      answer: { type: "object", properties: { output: { type: "array" } } },
    },
  },
  {
    ...{ method: "POST", path: "/v1/embeddings", summary: "Turn texts into vectors" },
    description:
      "By the function embed of a model's hook file, or by a model that takes texts and gives vectors; also at /v3 and /openai/v1.",
    schemas: {
      body: { type: "object", required: ["input"], properties: { model: TEXT, input: TEXTS } },
      answer: { type: "object", properties: { data: { type: "array" } } },
    },
  },
  {
    ...{ method: "POST", path: "/v1/rerank", summary: "Sort documents by how well they fit a query" },
    description:
      "By the function rerank of a model's hook file, or by a model that scores pairs of texts; also at /v2, /v3, /openai/v1 and /rerank.",
    schemas: {
      body: {
        ...{ type: "object", required: ["query", "documents"] },
        properties: { model: TEXT, query: TEXT, documents: { type: "array", minItems: 1, items: TEXT } },
      },
      answer: { type: "object", properties: { results: { type: "array" } } },
    },
  },
  {
    ...{ method: "POST", path: "/v1/score", summary: "Tell how well texts fit another text" },
    description: "By the same as rerank, in vLLM's form; also at /v3, /openai/v1 and /score.",
    schemas: {
      body: {
        ...{ type: "object", required: ["text_1", "text_2"] },
        properties: { model: TEXT, text_1: TEXTS, text_2: TEXTS },
      },
      answer: { type: "object", properties: { data: { type: "array" } } },
    },
  },
  {
    ...{ method: "POST", path: "/v1/tokenize", summary: "Tell the tokens of a text" },
    description: "By a model that takes texts, in vLLM's form; also at /v3, /openai/v1 and /tokenize.",
    schemas: { body: { type: "object", properties: { model: TEXT, prompt: TEXT } }, answer: { type: "object" } },
  },
  ...(["transcriptions", "translations"] as const).map((name) => ({
    ...{ method: "POST", path: `/v1/audio/${name}`, bodyType: "multipart/form-data" },
    summary: name === "translations" ? "Write down in English what is spoken" : "Write down what is spoken",
    description: "By the function transcribe of a model's hook file; also at /v3 and /openai/v1.",
    schemas: { body: SOUND, answer: { type: "object", properties: { text: TEXT } } },
  })),
  {
    ...{ method: "POST", path: "/v1/audio/speech", summary: "Speak a text", contentType: "audio/*" },
    description: "By the function speak of a model's hook file; also at /v3 and /openai/v1.",
    schemas: {
      body: { type: "object", required: ["input"], properties: { model: TEXT, input: TEXT, voice: TEXT } },
      answer: { type: "string", format: "binary" },
    },
  },
  {
    ...{ method: "POST", path: "/v1/images/generations", summary: "Make pictures" },
    description: "By the function generateImage of a model's hook file; also at /v3 and /openai/v1.",
    schemas: {
      body: { type: "object", required: ["prompt"], properties: { model: TEXT, prompt: TEXT, size: TEXT } },
      answer: { type: "object", properties: { data: { type: "array" } } },
    },
  },
];

/** Paths of OpenAPI for OpenAI's API. */
export function openaiPaths(): Paths {
  return endpointPaths("OpenAI", ENDPOINTS);
}
