import type { IncomingMessage } from "node:http";
import { ServingError } from "../../errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpRoute, InferenceRoute } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { type Endpoint, endpointPaths, type Paths } from "../endpoint-paths.ts";
import type { Protocol } from "../protocol.ts";
import { parseMembers } from "../text/members.ts";
import { jsonAnswer } from "../text-answer.ts";

/** Ollama's API over functions of hooks: https://docs.ollama.com/api. Models are not pulled, made or deleted. */
export const ollama: Protocol = {
  name: "ollama",
  http: ({ service }) => ({
    inference: ROUTES.map((route) => toInferenceRoute(route, service)),
    routes: [...modelRoutes(service), ...REFUSED.map(toRefusal)],
    isOtherForm: true,
  }),
};

interface OllamaRoute {
  readonly path: string;
  readonly inParts: NonNullable<InferenceRoute["inParts"]>;
  readonly answer: (exchange: HttpExchange, service: InferenceService) => Promise<HttpAnswer>;
}

const importAnswer = () => import("./ollama-answer.ts");

// Loaded with the first request, as those of OpenAI are.
const ROUTES: readonly OllamaRoute[] = [
  {
    ...{ path: "/api/chat", inParts: true },
    answer: async (...call) => (await importAnswer()).answerOllama(...call, "chat"),
  },
  {
    ...{ path: "/api/generate", inParts: true },
    answer: async (...call) => (await importAnswer()).answerOllama(...call, "generate"),
  },
  {
    ...{ path: "/api/embed", inParts: "possible" },
    answer: async (...call) => (await importAnswer()).answerOllamaVectors(...call, false),
  },
  {
    ...{ path: "/api/embeddings", inParts: "possible" },
    answer: async (...call) => (await importAnswer()).answerOllamaVectors(...call, true),
  },
];

function toInferenceRoute({ path, inParts, answer }: OllamaRoute, service: InferenceService): InferenceRoute {
  const pattern = new RegExp(`^${path}/?(?:\\?|$)`);
  const handler = (exchange: HttpExchange) => answer(exchange, service);
  return { path, inParts, find: (url) => (pattern.test(url) ? handler : undefined) };
}

/** The version of Ollama whose API this is: programs ask for one that is new enough. */
const API_VERSION = "0.12.6";

function modelRoutes(service: InferenceService): readonly HttpRoute[] {
  const list = async (exchange: HttpExchange, isRunning: boolean) =>
    jsonAnswer(await (await import("./ollama-models.ts")).listModels(service, isRunning, exchange.callInfo()));
  const show: HttpRoute["answer"] = async (exchange) => {
    const body = parseMembers(await exchange.readSmallBody());
    const name = body.text("model") ?? body.text("name") ?? "";
    exchange.record.model = name;
    const { showModel } = await import("./ollama-models.ts");
    return jsonAnswer(await showModel(service, name, exchange.callInfo()));
  };
  const get = { method: "GET", kind: "read" } as const;
  return [
    { ...get, path: "/", takes: isOfOllama, answer: async () => RUNNING },
    { ...get, path: "/api/version", answer: async () => jsonAnswer({ version: API_VERSION }) },
    { ...get, path: "/api/tags", answer: (exchange) => list(exchange, false) },
    { ...get, path: "/api/ps", answer: (exchange) => list(exchange, true) },
    { method: "POST", path: "/api/show", kind: "read", answer: show },
  ];
}

/** Programs know Ollama by this text. */
const RUNNING: HttpAnswer = { contentType: "text/plain; charset=utf-8", body: Buffer.from("Ollama is running") };

/** Checks for Ollama's own clients: the address has other answers for browsers and everybody else. */
function isOfOllama({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers["user-agent"]?.startsWith("ollama") === true;
}

/** Calls that change the models of Ollama. */
const REFUSED = [
  ["POST", "/api/pull"],
  ["POST", "/api/push"],
  ["POST", "/api/create"],
  ["POST", "/api/copy"],
  ["DELETE", "/api/delete"],
] as const;

function toRefusal([method, path]: (typeof REFUSED)[number]): HttpRoute {
  const what = path.slice("/api/".length);
  const message = `This server does not ${what} models as Ollama does: it serves those that it was started with.`;
  const answer = async () => {
    throw new ServingError("unimplemented", message);
  };
  return { method, path, kind: "read", answer };
}

const TEXT = { type: "string" };
const TEXTS = { anyOf: [TEXT, { type: "array", items: TEXT }] };
const STREAM = { type: "boolean", default: true, description: "false asks for the answer as one object" };
const ITEM = { type: "object", properties: { model: TEXT, done: { type: "boolean" } } };

/** No member has to be there: a request without a text loads a model. */
function bodyOf(properties: object): object {
  return { type: "object", properties: { model: TEXT, ...properties } };
}

const MESSAGES = { type: "array", items: { type: "object", properties: { role: TEXT, content: TEXT } } };

const ENDPOINTS: readonly Endpoint[] = [
  {
    ...{ method: "POST", path: "/api/chat", summary: "Answer a conversation, as Ollama" },
    description: "By the function chat of a model's hook file; lines of JSON, unless stream is false.",
    schemas: { body: bodyOf({ messages: MESSAGES, stream: STREAM }), answer: ITEM },
  },
  {
    ...{ method: "POST", path: "/api/generate", summary: "Answer a prompt, as Ollama" },
    description: "By the function chat of a model's hook file, or complete; lines of JSON, unless stream is false.",
    schemas: { body: bodyOf({ prompt: TEXT, stream: STREAM }), answer: ITEM },
  },
  {
    ...{ method: "POST", path: "/api/embed", summary: "Turn texts into vectors, as Ollama" },
    description: "By the function embed of a model's hook file, or by a model that takes texts and gives vectors.",
    schemas: {
      body: bodyOf({ input: TEXTS }),
      answer: { type: "object", properties: { embeddings: { type: "array" } } },
    },
  },
  {
    ...{ method: "POST", path: "/api/embeddings", summary: "Turn a text into a vector, as older clients of Ollama" },
    schemas: {
      body: bodyOf({ prompt: TEXT }),
      answer: { type: "object", properties: { embedding: { type: "array" } } },
    },
  },
  { method: "GET", path: "/api/tags", summary: "List the models that answer requests about texts, as Ollama" },
  { method: "GET", path: "/api/ps", summary: "List those that are loaded, as Ollama" },
  { method: "GET", path: "/api/version", summary: "Tell the version of Ollama's API" },
  {
    ...{ method: "POST", path: "/api/show", summary: "Describe a model, as Ollama" },
    schemas: { body: bodyOf({}), answer: { type: "object" } },
  },
];

/** Paths of OpenAPI for Ollama's API. */
export function ollamaPaths(): Paths {
  return endpointPaths("Ollama", ENDPOINTS);
}
