import type { IncomingMessage } from "node:http";
import { isChosenProtocol } from "../../platform/limits/settings/protocol-settings.ts";
import type { ProtocolSettings } from "../../platform/limits/settings/server-settings.ts";
import { nearest } from "../../platform/text/nearest.ts";
import { HttpError } from "../../proxy/http-errors.ts";
import type { HttpRoute } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { modelNotFound } from "../kserve/model-ref.ts";
import type { Protocol } from "../protocol.ts";
import { type ModelStatus, modelStatus, withDetail } from "../tensorflow-serving/model-status.ts";
import { knowing } from "../text/lease-for.ts";
import { jsonAnswer } from "../text-answer.ts";
import { BASES, ENDPOINTS, pathsOf, toInferenceRoute } from "./endpoints.ts";
import { openaiError } from "./openai-error.ts";

/**
 * OpenAI's API over functions of hooks, also at the paths of OpenVINO Model Server (`/v3`) and KServe (`/openai/v1`):
 * https://platform.openai.com/docs/api-reference. `rerank` is Cohere's and Jina's.
 */
export const openai: Protocol = {
  name: "openai",
  http: ({ service, settings }) => ({
    inference: ENDPOINTS.map((endpoint) => toInferenceRoute(endpoint, service)),
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

function refuse({ method, url = "" }: IncomingMessage, methods: readonly string[]): Error {
  const [asked = ""] = url.split("?", 1);
  const isRoute = ENDPOINTS.some((endpoint) => pathsOf(endpoint).includes(asked));
  const allow = isRoute ? ["POST"] : methods;
  if (allow.length === 0) return noRoute(method, asked);
  return new HttpError(405, `${method} is not possible here; send ${allow[0]}.`, { allow: allow.join(", ") });
}

/** The error for a route that is not there, with those that are, at the same base. */
function noRoute(method: string | undefined, asked: string): HttpError {
  const base = BASES.find((each) => asked.startsWith(`${each}/`)) ?? "/v1";
  const paths = ENDPOINTS.map(({ path }) => base + path);
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
 * is told in this form to OpenAI's own clients alone, unless TensorFlow Serving's protocol is off: its clients parse
 * that answer as a message, which bears no further members. The list is in the form of the server that a setting names,
 * except for OpenAI's clients.
 */
function modelRoutes(service: InferenceService, settings: ProtocolSettings): readonly HttpRoute[] {
  const isOther = settings.kserveRoutes || settings.simpleTensorflowServing;
  const isAlone = !isOther && !isChosenProtocol("tensorflow-serving", settings.servedProtocols);
  const takesOne: HttpRoute["takes"] = (request) => isAlone || isOfOpenai(request);
  const list: HttpRoute["answer"] = async (exchange) => {
    const known = await knowing(service, exchange.callInfo());
    const names = [...new Set(known.index().map(({ model }) => model))];
    const data = names.map(async (name) => ({ ...openaiModel(name), ...(await withDetail(known, name)) }));
    return jsonAnswer({ object: "list", data: await Promise.all(data) });
  };
  const one: HttpRoute["answer"] = async (exchange, { owner, name = "" }) => {
    const model = owner === undefined ? name : `${owner}/${name}`;
    exchange.record.model = model;
    return jsonAnswer(describe(await knowing(service, exchange.callInfo()), model));
  };
  const get = { method: "GET", kind: "read" } as const;
  return [
    { ...get, path: "/v1/models", takes: (request) => !isOther || isOfOpenai(request), answer: list },
    { ...get, path: "/v1/models/:name", takes: takesOne, answer: one },
    { ...get, path: "/v1/models/:owner/:name", takes: takesOne, answer: one },
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
