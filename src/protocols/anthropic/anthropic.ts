import type { IncomingMessage } from "node:http";
import { ServingError } from "../../errors.ts";
import { HttpError } from "../../proxy/http-errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpRoute } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { type Endpoint, endpointPaths, type Paths } from "../endpoint-paths.ts";
import { modelNotFound } from "../kserve/model-ref.ts";
import type { Protocol } from "../protocol.ts";
import { knowing } from "../text/lease-for.ts";
import { jsonAnswer } from "../text-answer.ts";
import { anthropicError } from "./anthropic-error.ts";

/** Anthropic's Messages over the function `chat` of hooks: https://docs.anthropic.com/en/api/messages. */
export const anthropic: Protocol = {
  name: "anthropic",
  http: ({ service }) => ({
    inference: [
      {
        path: MESSAGES,
        inParts: true,
        find: (url) => (PATTERN.test(url) ? (exchange) => answer(exchange, service) : undefined),
      },
    ],
    routes: [COUNT_TOKENS, ...modelRoutes(service)],
    prefix: /^\/v1\/messages(?:\/|$)/,
    isOtherForm: true,
    refuse,
    errorForm: anthropicError,
    keyHeader: "x-api-key",
  }),
};

const MESSAGES = "/v1/messages";
const PATTERN = /^\/v1\/messages\/?(?:\?|$)/;

/** Loaded with the first request, as the routes of OpenAI are. */
async function answer(exchange: HttpExchange, service: InferenceService) {
  return (await import("./messages-answer.ts")).answerMessages(exchange, service);
}

function refuse({ method, url = "" }: IncomingMessage, methods: readonly string[]): Error {
  const allow = methods.join(", ");
  if (allow !== "") return new HttpError(405, `${method} is not possible here; send ${methods[0]}.`, { allow });
  const there = `POST ${MESSAGES}`;
  const hint = { reason: "UNKNOWN_ROUTE", didYouMean: there } as const;
  return new HttpError(404, `There is no ${method} ${url.split("?", 1)[0]} here. There is ${there}.`, {}, { hint });
}

/** Only the tokenizer of a model tells, which its hooks may have and the server does not know. */
const COUNT_TOKENS: HttpRoute = {
  ...{ method: "POST", path: "/v1/messages/count_tokens", kind: "read" },
  answer: async () => {
    const message = `Tokens are not counted here: send the request to ${MESSAGES}, whose answer has them in its usage.`;
    throw new ServingError("not_found", message);
  },
};

/** Models for Anthropic's own clients, which the others that read these paths are not. */
function modelRoutes(service: InferenceService): readonly HttpRoute[] {
  const get = { method: "GET", kind: "read", takes: isOfAnthropic } as const;
  const names = (known: InferenceService) => [...new Set(known.index().map(({ model }) => model))];
  const list: HttpRoute["answer"] = async (exchange) => {
    const data = names(await knowing(service, exchange.callInfo())).map(toModel);
    return jsonAnswer({ data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null });
  };
  const one: HttpRoute["answer"] = async (exchange, { name = "" }) => {
    exchange.record.model = name;
    const known = await knowing(service, exchange.callInfo());
    const model = known.nameOf?.(name) ?? name;
    if (!names(known).includes(model)) throw modelNotFound({ model }, known);
    return jsonAnswer(toModel(model));
  };
  return [
    { ...get, path: "/v1/models", answer: list },
    { ...get, path: "/v1/models/:name", answer: one },
  ];
}

function isOfAnthropic({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers["anthropic-version"] !== undefined;
}

function toModel(id: string) {
  return { type: "model", id, display_name: id, created_at: new Date(performance.timeOrigin).toISOString() };
}

const TEXT = { type: "string" };
const CONTENT = { anyOf: [TEXT, { type: "array", items: { type: "object", properties: { type: TEXT } } }] };
const BODY = {
  ...{ type: "object", required: ["messages"] },
  properties: {
    model: TEXT,
    max_tokens: { type: "integer", minimum: 0 },
    messages: { type: "array", minItems: 1, items: { type: "object", properties: { role: TEXT, content: CONTENT } } },
    stream: { type: "boolean", description: "true asks for the parts of the answer as events" },
  },
};

const ENDPOINTS: readonly Endpoint[] = [
  {
    ...{ method: "POST", path: MESSAGES, summary: "Answer a conversation, as Anthropic" },
    description: "By the function chat of a model's hook file.",
    schemas: { body: BODY, answer: { type: "object", properties: { content: { type: "array" } } } },
  },
];

/** Paths of OpenAPI for Anthropic's API. */
export function anthropicPaths(): Paths {
  return endpointPaths("Anthropic", ENDPOINTS);
}
