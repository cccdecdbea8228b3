import type { RouteName } from "../observability/request-record.ts";
import type { HookRoutes } from "../serving/hook-routes.ts";
import { inferRaw } from "../serving/infer-raw.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import { answerRequest } from "./answer-request.ts";
import { answerUnrouted } from "./answer-unrouted.ts";
import { permitOrigin } from "./cors.ts";
import type { HttpExchange } from "./http-exchange.ts";
import { type HttpAnswer, type HttpDependencies, type NamedHttpProtocol, nameRoute } from "./http-route.ts";
import type { InferenceRouter } from "./inference-router.ts";

/** Name of the protocol of these routes in metrics. */
const PROTOCOL = "hooks";

/**
 * The HTTP routes that hooks declare, which win over those of all protocols; a method that they do not have is left to
 * the protocol of the path. The log has each change of them.
 */
export function createHookRouter(
  protocols: readonly NamedHttpProtocol[],
  dependencies: HttpDependencies,
): InferenceRouter {
  const { service, policy, log } = dependencies;
  let routes: HookRoutes = new Map();
  // Metrics know a route by its name, which is one object for all of its requests.
  const names = new Map<string, RouteName>();
  service.onHookRoutes?.((changed) => {
    for (const text of hookRouteTexts(changed, routes, protocols)) log.info(text);
    routes = changed;
    names.clear();
  });
  return (request, response) => {
    if (routes.size === 0) return false;
    const { method = "", url = "" } = request;
    const [path = "", query = ""] = splitUrl(url);
    const methods = routes.get(path);
    if (methods === undefined) return false;
    const model = methods.get(method) ?? (method === "HEAD" ? methods.get("GET") : undefined);
    const pair = { request, response };
    if (model === undefined) {
      if (ownerOf(path, protocols) !== undefined) return false;
      const own = [...methods.keys()].map((each) => ({ method: each, kind: "inference" as const }));
      answerUnrouted({ protocol: { inference: [] }, routes: own }, pair, dependencies);
      return true;
    }
    permitOrigin(pair, policy);
    const name = names.get(`${method} ${path}`) ?? nameRoute(PROTOCOL, method === "HEAD" ? "GET" : method, path);
    names.set(`${method} ${path}`, name);
    const answer = (exchange: HttpExchange) => answerByHook(service, exchange, { model, method, path, query });
    void answerRequest({ kind: "inference", name, answer }, pair, dependencies);
    return true;
  };
}

function splitUrl(url: string): readonly string[] {
  const at = url.indexOf("?");
  return at < 0 ? [url] : [url.slice(0, at), url.slice(at + 1)];
}

interface Found {
  readonly model: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
}

async function answerByHook(
  service: InferenceService,
  exchange: HttpExchange,
  { model, method, path, query }: Found,
): Promise<HttpAnswer> {
  exchange.record.model = model;
  const body = await exchange.readBody();
  const call = exchange.callInfo();
  const lease = await service.acquire({ model }, call);
  try {
    const entry = `${method === "HEAD" ? "GET" : method} ${path}`;
    const { metadata, ...answer } = await inferRaw(lease, { entry, facts: { method, path, query }, body, call });
    return { ...answer, headers: metadata };
  } finally {
    lease.release();
  }
}

/** The name of the protocol that a path belongs to; undefined = to none. */
function ownerOf(path: string, protocols: readonly NamedHttpProtocol[]): string | undefined {
  const owner = protocols.find(({ inference, routes = [], prefix }) => {
    if (inference.some(({ find }) => find(path) !== undefined)) return true;
    return routes.some((route) => route.path === path) || prefix?.test(path);
  });
  return owner?.name;
}

/** One line for each model whose hooks answer other routes than before, with the protocols whose place they take. */
function hookRouteTexts(
  routes: HookRoutes,
  before: HookRoutes,
  protocols: readonly NamedHttpProtocol[],
): readonly string[] {
  const [now, then] = [byModel(routes, protocols), byModel(before, protocols)];
  const texts = Array.from(now, ([model, own]) => [model, own.join(", ")] as const);
  return texts
    .filter(([model, own]) => then.get(model)?.join(", ") !== own)
    .map(([model, own]) => `the hooks of the model ${model} answer ${own}`);
}

function byModel(routes: HookRoutes, protocols: readonly NamedHttpProtocol[]): ReadonlyMap<string, readonly string[]> {
  const models = new Map<string, string[]>();
  for (const [path, methods] of routes) {
    for (const [method, model] of methods) {
      const owner = ownerOf(path, protocols);
      const text = `${method} ${path}${owner === undefined ? "" : ` (in place of ${owner})`}`;
      models.set(model, [...(models.get(model) ?? []), text]);
    }
  }
  return models;
}
