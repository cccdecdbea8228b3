import { invalidArgument } from "../../errors.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import { jsonAnswer } from "../text-answer.ts";
import { reloadModel, unloadModel } from "./control.ts";
import type { KserveCall, KserveEndpoint } from "./http-endpoint.ts";
import { toParameters } from "./http-request.ts";
import { decodeHttpLoad, decodeHttpLoadJob, type LoadParameters } from "./load-request.ts";
import { CONTROL_SCHEMAS, INDEX_SCHEMAS } from "./openapi-schemas.ts";
import { readObject } from "./read-object.ts";
import { repositoryIndex } from "./repository-index.ts";

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

/** Answer of calls that change the server: only a status. */
const EMPTY: HttpAnswer = { contentType: "application/json", body: new Uint8Array(0) };
