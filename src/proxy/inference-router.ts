import type { IncomingMessage, ServerResponse } from "node:http";
import { createKibernetikaRoutes } from "../protocols/kibernetika/http-routes.ts";
import { createKserveRoutes } from "../protocols/kserve/http-routes.ts";
import { createTensorflowRoutes } from "../protocols/tensorflow-serving/http-routes.ts";
import { sendError } from "./http-errors.ts";
import { HttpExchange } from "./http-exchange.ts";
import type { HttpDependencies, RouteHandler } from "./http-route.ts";
import { answerBytes, sendAnswer } from "./send-answer.ts";

/** Answers a request if it is for one of the inference protocols, and says whether it is. */
export type InferenceRouter = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * The routes of all inference protocols. They need nothing of Express, which costs several times what a small request
 * takes, so that a server may ask this router first.
 */
export function createInferenceRouter(dependencies: HttpDependencies): InferenceRouter {
  const protocols = [
    createKibernetikaRoutes(dependencies),
    createTensorflowRoutes(dependencies),
    createKserveRoutes(dependencies),
  ];
  const find = (method: string, url: string) => {
    for (const routes of protocols) {
      const handler = routes(method, url);
      if (handler !== undefined) return handler;
    }
    return undefined;
  };
  const posts = rememberHandlers((url) => find("POST", url));
  return (request, response) => {
    const { method = "", url = "" } = request;
    const handler = method === "POST" ? posts(url) : find(method, url);
    if (handler === undefined) return false;
    void answer(handler, { request, response }, dependencies);
    return true;
  };
}

/** URLs that are remembered, and their longest. */
const MAX_URLS = 256;
const MAX_URL_LENGTH = 256;

/** Finds each URL's handler once: clients send the same few all the time. */
function rememberHandlers(find: (url: string) => RouteHandler | undefined): typeof find {
  const known = new Map<string, RouteHandler>();
  return (url) => {
    const remembered = known.get(url);
    if (remembered !== undefined) return remembered;
    const handler = find(url);
    if (handler === undefined || url.length > MAX_URL_LENGTH) return handler;
    if (known.size === MAX_URLS) known.clear();
    known.set(url, handler);
    return handler;
  };
}

interface RequestPair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

async function answer(handler: RouteHandler, pair: RequestPair, dependencies: HttpDependencies): Promise<void> {
  const { request, response } = pair;
  const { log } = dependencies;
  const exchange = new HttpExchange(request, response, dependencies);
  try {
    const made = await handler(exchange);
    exchange.holdAnswer(answerBytes(made));
    exchange.beginSending();
    sendAnswer(response, made, log);
  } catch (reason) {
    sendError(reason, { request, response, log });
  } finally {
    exchange.release();
  }
}
