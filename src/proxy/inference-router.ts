import type { IncomingMessage, ServerResponse } from "node:http";
import { answerRequest, type ChosenRoute } from "./answer-request.ts";
import { permitOrigin } from "./cors.ts";
import { type HttpDependencies, type NamedHttpProtocol, nameRoute } from "./http-route.ts";

/** Answers a request if it runs a model, and says whether it does. */
export type InferenceRouter = (request: IncomingMessage, response: ServerResponse) => boolean;

/** The routes of all protocols that run models; the first one that knows a URL answers it. */
export function createInferenceRouter(
  protocols: readonly NamedHttpProtocol[],
  dependencies: HttpDependencies,
): InferenceRouter {
  const routes = protocols.flatMap(({ name: protocol, inference }) =>
    inference.map(({ path, find }) => ({ name: nameRoute(protocol, "POST", path), find })),
  );
  const routeOf = rememberRoutes((url) => {
    for (const { name, find } of routes) {
      const answer = find(url);
      if (answer !== undefined) return { kind: "inference", name, answer };
    }
    return undefined;
  });
  return (request, response) => {
    const { method, url = "" } = request;
    const route = method === "POST" ? routeOf(url) : undefined;
    if (route === undefined) return false;
    const pair = { request, response };
    permitOrigin(pair, dependencies.policy);
    void answerRequest(route, pair, dependencies);
    return true;
  };
}

/** URLs that are remembered, and their longest. */
const MAX_URLS = 256;
const MAX_URL_LENGTH = 256;

/** Finds each URL's route once: clients send the same few all the time. */
function rememberRoutes(find: (url: string) => ChosenRoute | undefined): typeof find {
  const known = new Map<string, ChosenRoute>();
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
