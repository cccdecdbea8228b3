import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller } from "../access/caller.ts";
import { answerPreflight, isPreflight, permitOrigin } from "./cors.ts";
import { sendError } from "./http-errors.ts";
import { HttpExchange } from "./http-exchange.ts";
import type { CreateHttpRoutes, HttpDependencies, HttpRoute } from "./http-route.ts";
import { answerBytes, sendAnswer } from "./send-answer.ts";

/** Answers a request if it is for one of the inference protocols, and says whether it is. */
export type InferenceRouter = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * The routes of all inference protocols. They need nothing of Express, which costs several times what a small request
 * takes, so that a server may ask this router first.
 */
export function createInferenceRouter(
  protocols: readonly { readonly http?: CreateHttpRoutes }[],
  dependencies: HttpDependencies,
): InferenceRouter {
  const protocolRoutes = protocols.flatMap(({ http }) => (http === undefined ? [] : [http(dependencies)]));
  const find = (method: string, url: string) => {
    for (const routes of protocolRoutes) {
      const route = routes(method, url);
      if (route !== undefined) return route;
    }
    return undefined;
  };
  const posts = rememberRoutes((url) => find("POST", url));
  return (request, response) => {
    const { method = "", url = "" } = request;
    const isAsked = isPreflight(request);
    const asked = isAsked ? String(request.headers["access-control-request-method"]) : method;
    const route = asked === "POST" ? posts(url) : find(asked, url);
    const pair = { request, response };
    const isPermitted = route?.kind !== "control" && permitOrigin(pair, dependencies.policy);
    if (isAsked && isPermitted) {
      answerPreflight(pair);
      return true;
    }
    const answered = isAsked ? find(method, url) : route;
    if (answered === undefined) return false;
    void answer(answered, pair, dependencies);
    return true;
  };
}

/** URLs that are remembered, and their longest. */
const MAX_URLS = 256;
const MAX_URL_LENGTH = 256;

/** Finds each URL's route once: clients send the same few all the time. */
function rememberRoutes(find: (url: string) => HttpRoute | undefined): typeof find {
  const known = new Map<string, HttpRoute>();
  return (url) => {
    const remembered = known.get(url);
    if (remembered !== undefined) return remembered;
    const route = find(url);
    if (route === undefined || url.length > MAX_URL_LENGTH) return route;
    if (known.size === MAX_URLS) known.clear();
    known.set(url, route);
    return route;
  };
}

interface RequestPair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

async function answer(route: HttpRoute, pair: RequestPair, dependencies: HttpDependencies): Promise<void> {
  const { request, response } = pair;
  const { log, policy } = dependencies;
  const exchange = new HttpExchange(request, response, dependencies);
  try {
    policy.check(route.kind, callerOf(request));
    const made = await route.answer(exchange);
    exchange.holdAnswer(answerBytes(made));
    exchange.beginSending();
    sendAnswer(response, made, log);
  } catch (reason) {
    sendError(reason, { request, response, log });
  } finally {
    exchange.release();
  }
}

function callerOf({ socket, headers, httpVersion }: IncomingMessage): Caller {
  const { remoteAddress: address = "" } = socket;
  return { address, host: headers.host, headers, isHttp10: httpVersion === "1.0" };
}
