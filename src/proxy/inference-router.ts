import type { IncomingMessage, ServerResponse } from "node:http";
import { answerRequest, type ChosenRoute } from "./answer-request.ts";
import { permitOrigin } from "./cors.ts";
import { type HttpDependencies, type NamedHttpProtocol, nameRoute } from "./http-route.ts";

/** Answers a request if it runs a model; returns false otherwise. */
export type InferenceRouter = (request: IncomingMessage, response: ServerResponse) => boolean;

/** The inference routes of all protocols; the first one that knows a URL answers it. */
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

/** Maximum number of cached URLs, and of their characters. */
const MAX_URLS = 256;
const MAX_URL_LENGTH = 256;

/** Caches each URL's route: clients repeat the same few. */
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
