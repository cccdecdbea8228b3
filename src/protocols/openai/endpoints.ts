import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, InferenceRoute } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { type Endpoint, endpointPaths, type Paths } from "../endpoint-paths.ts";

/** Beginnings of the API's paths: OpenAI's, OpenVINO Model Server's and KServe's; the first one names its routes. */
export const BASES = ["/v1", "/v3", "/openai/v1"];

/** An endpoint that runs a model: its paths, what answers it, and its words and schemas in OpenAPI. */
interface OpenaiEndpoint {
  /** Behind a base. */
  readonly path: string;
  /** Default {@link BASES}. */
  readonly bases?: readonly string[];
  readonly inParts: NonNullable<InferenceRoute["inParts"]>;
  readonly isUntold?: InferenceRoute["isUntold"];
  readonly answer: (exchange: HttpExchange, service: InferenceService) => Promise<HttpAnswer>;
  /** The beginning of its description: the functions or models that answer it. */
  readonly by: string;
  readonly about: Pick<Endpoint, "summary" | "bodyType" | "contentType" | "schemas">;
}

// Loaded with the first request: most servers have none of them.
const importText = () => import("./openai-text.ts");
const importNumbers = () => import("./answer-numbers.ts");
const importMedia = () => import("./answer-media.ts");

const TEXT = { type: "string" };
const TEXTS = { anyOf: [TEXT, { type: "array", minItems: 1, items: TEXT }] };
const CONTENT = { anyOf: [TEXT, { type: "array", items: { type: "object" } }] };
const MESSAGES = {
  ...{ type: "array", minItems: 1 },
  items: { type: "object", properties: { role: TEXT, content: CONTENT } },
};
const INPUT = { anyOf: [TEXT, { type: "array", minItems: 1, items: { type: "object" } }] };
const STREAM = { type: "boolean", description: "true asks for the parts of the answer as events" };
const SOUND_FILE = { type: "string", format: "binary" };

/** The schema of a body, whose first member has to be there. */
function bodyOf(properties: Readonly<Record<string, object>>, required = Object.keys(properties).slice(0, 1)): object {
  return { type: "object", required, properties: { model: TEXT, ...properties } };
}

/** That of an answer with a list. */
function listOf(name: string): object {
  return { type: "object", properties: { [name]: { type: "array" } } };
}

const WIDE = [...BASES, ""];
const TOKENIZING = { bases: WIDE, isUntold: true, inParts: "possible" } as const;
const SPOKEN = { isUntold: true, inParts: true } as const;
const BY_TRANSCRIBE = "By the function transcribe of a model's hook file";
const TRANSCRIPT = {
  bodyType: "multipart/form-data",
  schemas: {
    body: bodyOf({ file: SOUND_FILE, response_format: TEXT }),
    answer: { type: "object", properties: { text: TEXT } },
  },
};

/** Every endpoint that runs a model; those of the models' list are in openai.ts. */
export const ENDPOINTS: readonly OpenaiEndpoint[] = [
  {
    ...{ path: "/chat/completions", inParts: true, by: "By the function chat of a model's hook file" },
    answer: async (...call) => (await importText()).answerOpenai(...call, "chat"),
    about: {
      summary: "Answer a conversation",
      schemas: { body: bodyOf({ messages: MESSAGES, stream: STREAM }), answer: listOf("choices") },
    },
  },
  {
    ...{ path: "/completions", inParts: true, by: "By the function complete of a model's hook file" },
    answer: async (...call) => (await importText()).answerOpenai(...call, "completion"),
    about: {
      summary: "Continue a text",
      schemas: { body: bodyOf({ prompt: TEXTS, stream: STREAM }), answer: listOf("choices") },
    },
  },
  {
    ...{ path: "/responses", inParts: true, by: "By the function chat of a model's hook file; no answer is kept" },
    answer: async (...call) => (await importText()).answerOpenai(...call, "response"),
    about: {
      summary: "Answer a conversation, in the newer form",
      schemas: { body: bodyOf({ input: INPUT, stream: STREAM }), answer: listOf("output") },
    },
  },
  {
    ...{ path: "/embeddings", inParts: "possible" },
    by: "By the function embed of a model's hook file, or by a model that takes texts and gives vectors",
    answer: async (...call) => (await importNumbers()).answerEmbeddings(...call),
    about: {
      summary: "Turn texts into vectors",
      schemas: { body: bodyOf({ input: TEXTS }), answer: listOf("data") },
    },
  },
  {
    ...{ path: "/rerank", bases: [...BASES, "/v2", ""], inParts: "possible" },
    by: "By the function rerank of a model's hook file, or by a model that scores pairs of texts",
    answer: async (...call) => (await importNumbers()).answerRerank(...call),
    about: {
      summary: "Sort documents by how well they fit a query",
      schemas: {
        body: bodyOf({ query: TEXT, documents: { type: "array", minItems: 1, items: TEXT } }, ["query", "documents"]),
        answer: listOf("results"),
      },
    },
  },
  {
    ...{ path: "/score", bases: WIDE, inParts: "possible", by: "By the same as rerank, in vLLM's form" },
    answer: async (...call) => (await importNumbers()).answerScore(...call),
    about: {
      summary: "Tell how well texts fit another text",
      schemas: { body: bodyOf({ text_1: TEXTS, text_2: TEXTS }, ["text_1", "text_2"]), answer: listOf("data") },
    },
  },
  {
    ...{ ...TOKENIZING, path: "/tokenize", by: "By a model that takes texts, in vLLM's form" },
    answer: async (...call) => (await importNumbers()).answerTokens(...call),
    about: {
      summary: "Tell the tokens of a text",
      schemas: { body: bodyOf({ prompt: TEXT }, []), answer: listOf("tokens") },
    },
  },
  {
    ...{ ...TOKENIZING, path: "/detokenize", by: "By a model that takes texts, in vLLM's form" },
    answer: async (...call) => (await importNumbers()).answerTokenText(...call),
    about: {
      summary: "Tell the text of tokens",
      schemas: {
        body: bodyOf({ tokens: { type: "array", items: { type: "integer" } } }),
        answer: { type: "object", properties: { prompt: TEXT } },
      },
    },
  },
  {
    ...{ ...SPOKEN, path: "/audio/transcriptions", by: BY_TRANSCRIBE },
    answer: async (...call) => (await importMedia()).answerTranscription(...call, "transcribe"),
    about: { summary: "Write down what is spoken", ...TRANSCRIPT },
  },
  {
    ...{ ...SPOKEN, path: "/audio/translations", by: BY_TRANSCRIBE },
    answer: async (...call) => (await importMedia()).answerTranscription(...call, "translate"),
    about: { summary: "Write down in English what is spoken", ...TRANSCRIPT },
  },
  {
    ...{ ...SPOKEN, path: "/audio/speech", by: "By the function speak of a model's hook file" },
    answer: async (...call) => (await importMedia()).answerSpeech(...call),
    about: {
      ...{ summary: "Speak a text", contentType: "audio/*" },
      schemas: { body: bodyOf({ input: TEXT, voice: TEXT }), answer: SOUND_FILE },
    },
  },
  {
    ...{ path: "/images/generations", isUntold: true, inParts: "possible" },
    by: "By the function generateImage of a model's hook file",
    answer: async (...call) => (await importMedia()).answerImages(...call),
    about: {
      summary: "Make pictures",
      schemas: { body: bodyOf({ prompt: TEXT, size: TEXT }), answer: listOf("data") },
    },
  },
];

/** All paths of an endpoint. */
export function pathsOf({ path, bases = BASES }: OpenaiEndpoint): readonly string[] {
  return bases.map((base) => base + path);
}

/** The route of an endpoint. */
export function toInferenceRoute(endpoint: OpenaiEndpoint, service: InferenceService): InferenceRoute {
  const { path, inParts, isUntold, answer } = endpoint;
  const pattern = new RegExp(`^(?:${pathsOf(endpoint).join("|")})/?(?:\\?|$)`);
  const handler = (exchange: HttpExchange) => answer(exchange, service);
  return { path: `/v1${path}`, inParts, isUntold, find: (url) => (pattern.test(url) ? handler : undefined) };
}

/** Paths of OpenAPI for OpenAI's API; each is told once. */
export function openaiPaths(): Paths {
  const endpoints = ENDPOINTS.map((endpoint) => {
    const [path = "", ...others] = pathsOf(endpoint);
    const description = `${endpoint.by}; also at ${others.join(", ").replace(/, (?=[^,]*$)/, " and ")}.`;
    return { method: "POST", path, description, ...endpoint.about };
  });
  return endpointPaths("OpenAI", endpoints);
}
