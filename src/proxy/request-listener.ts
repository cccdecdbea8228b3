import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { ServingError } from "../errors.ts";
import type { RouteName } from "../observability/request-record.ts";
import { type HookRoutes, textFunctionTexts } from "../serving/hook-routes.ts";
import { answerByHook } from "./answer-raw.ts";
import { answerRequest, type ChosenRoute, ownPageRouter } from "./answer-request.ts";
import { answerUnrouted } from "./answer-unrouted.ts";
import { permitOrigin } from "./cors.ts";
import { sendError } from "./http-errors.ts";
import type { HttpExchange } from "./http-exchange.ts";
import { type HttpDependencies, type InferenceRoute, type NamedHttpProtocol, nameRoute } from "./http-route.ts";
import { acceptedParts } from "./part-form.ts";
import { type Connect, passOn } from "./pass-on.ts";
import { requestRefusal } from "./request-refusal.ts";

/**
 * Answers every request: routes of hooks if these are wanted, inference, and what the
 * server's own page asks for, all others by an Express application.
 */
export function createRequestListener(
  protocols: readonly NamedHttpProtocol[],
  dependencies: HttpDependencies,
  { hookRoutes = true, connect }: RestRoutes = {},
): RequestListener {
  const pass = connect && passOn(connect, dependencies.log);
  const ofHooks = pass ? passHookRoutes(dependencies, pass) : hookRouter(hookRoutes, protocols, dependencies);
  const route = createInferenceRouter(protocols, dependencies, pass === undefined);
  const ofPage = pass ? () => false : ownPageRouter(protocols, dependencies);
  const app = pass ?? lazyApp(protocols, dependencies);
  return (request: IncomingMessage, response: ServerResponse) => {
    toOriginForm(request);
    const refusal = requestRefusal(request);
    if (refusal !== undefined) sendError(refusal, { request, response, log: dependencies.log });
    else if (!ofHooks(request, response) && !route(request, response) && !ofPage(request, response))
      app(request, response);
  };
}

/** Answering of requests that run no models. */
interface RestRoutes {
  /** Answers the routes that hooks declare. Default true. */
  readonly hookRoutes?: boolean;
  /** Opens a connection to the thread that answers them; absent = this one does. */
  readonly connect?: Connect | undefined;
}

function hookRouter(
  isWanted: boolean,
  protocols: readonly NamedHttpProtocol[],
  dependencies: HttpDependencies,
): InferenceRouter {
  return isWanted ? createHookRouter(protocols, dependencies) : () => false;
}

function passHookRoutes({ service }: HttpDependencies, pass: RequestListener): InferenceRouter {
  return (request, response) => {
    const routes = service.hookRoutes?.();
    const { url = "" } = request;
    if (routes === undefined || routes.size === 0 || !routes.has(url.split("?", 1)[0] as string)) return false;
    pass(request as never, response as never);
    return true;
  };
}

/**
 * Loads Express with the first request that is neither inference nor the page's: loading
 * it takes longer than all the rest of this transport.
 */
function lazyApp(protocols: readonly NamedHttpProtocol[], dependencies: HttpDependencies): RequestListener {
  let app: Promise<RequestListener> | undefined;
  return async (request, response) => {
    app ??= import("./app.ts").then(({ createApp }) => createApp(protocols, dependencies));
    try {
      const answer = await app;
      // Its client may have left meanwhile.
      if (!response.closed) answer(request, response);
    } catch (cause) {
      // The next request tries again: files may be missing for a while, or descriptors.
      app = undefined;
      const { log } = dependencies;
      sendError(new ServingError("unavailable", "The server cannot load Express.", { cause }), {
        request,
        response,
        log,
      });
    }
  };
}

const ABSOLUTE = /^https?:\/\/([^/?#]+)(.*)$/i;
/** Bytes that the parser takes in a URL, and that no URL has (RFC 3986 §2). */
const UNENCODED = /[^\x21-\x7e]/;

/**
 * Gives a request its usual form, once, for every thread: a target that is a whole URL, as sent to proxies,
 * becomes a path, and the URL's host replaces the Host header (RFC 9112 §3.2.2); bytes that no URL has are encoded.
 */
function toOriginForm(request: IncomingMessage): void {
  const { url = "" } = request;
  if (UNENCODED.test(url)) request.url = encodeBytes(url);
  if (url.startsWith("/")) return;
  const [, authority, rest = ""] = ABSOLUTE.exec(request.url ?? "") ?? [];
  if (authority === undefined) return;
  request.url = rest.startsWith("/") ? rest : `/${rest}`;
  setHost(request, authority);
}

/** In its list too, which is passed on; a missing one stays missing, if it has to be there. */
function setHost({ headers, rawHeaders, httpVersion }: IncomingMessage, host: string): void {
  let isThere = false;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]!.toLowerCase() !== "host") continue;
    rawHeaders[at + 1] = host;
    isThere = true;
  }
  if (!isThere && httpVersion === "1.0") rawHeaders.push("Host", host);
  headers.host = host;
}

function encodeBytes(url: string): string {
  return url.replace(/[^\x21-\x7e]/g, encodeByte);
}

function encodeByte(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

/** Answers a request if it runs a model; returns false otherwise. */
type InferenceRouter = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A route with the requests of it that are answered in parts. */
type FoundRoute = ChosenRoute & { readonly inParts: InferenceRoute["inParts"] | undefined };

/**
 * The inference routes of all protocols; the first one that knows a URL answers it, unless it answers in parts and
 * `takesParts` is false.
 */
function createInferenceRouter(
  protocols: readonly NamedHttpProtocol[],
  dependencies: HttpDependencies,
  takesParts: boolean,
): InferenceRouter {
  const routes = protocols.flatMap(({ name: protocol, docsOf, errorForm, keyHeader, inference }) =>
    inference.map(({ path, ...route }) => {
      const name = nameRoute(protocol, "POST", path);
      return { name, docsOf, errorForm, keyHeader, ...route };
    }),
  );
  const routeOf = rememberRoutes((url) => {
    for (const { find, ...route } of routes) {
      const answer = find(url);
      if (answer !== undefined) return { kind: "inference", answer, inParts: undefined, ...route };
    }
    return undefined;
  });
  return (request, response) => {
    const { method, url = "" } = request;
    const route = method === "POST" ? routeOf(url) : undefined;
    if (route === undefined || (!takesParts && isInParts(route, request, dependencies))) return false;
    const pair = { request, response };
    permitOrigin(pair, dependencies.policy);
    void answerRequest(route, pair, dependencies);
    return true;
  };
}

function isInParts({ inParts }: FoundRoute, request: IncomingMessage, { service }: HttpDependencies): boolean {
  if (inParts === undefined || inParts === true) return inParts ?? false;
  return acceptedParts(request) !== undefined || (inParts === "possible" && service.mayAnswerInParts?.() === true);
}

/** Maximum number of cached URLs, and of their characters. */
const MAX_URLS = 256;
const MAX_URL_LENGTH = 256;

/** Caches each URL's route: clients repeat the same few. */
function rememberRoutes(find: (url: string) => FoundRoute | undefined): typeof find {
  const known = new Map<string, FoundRoute>();
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

/** Name of the protocol of these routes in metrics. */
const PROTOCOL = "hooks";

/**
 * The HTTP routes that hooks declare, which win over those of all protocols; a method that they do not have is left to
 * the protocol of the path. The log has each change of them, and of the functions that answer requests about texts.
 */
function createHookRouter(protocols: readonly NamedHttpProtocol[], dependencies: HttpDependencies): InferenceRouter {
  const { service, policy, log } = dependencies;
  let routes: HookRoutes = new Map();
  // Metrics know a route by its name, which is one object for all of its requests.
  const names = new Map<string, RouteName>();
  // Of models that are gone, too: one that is loaded for a request comes and goes.
  const functions = new Map<string, readonly string[]>();
  service.onHookRoutes?.((changed, changedFunctions = functions) => {
    for (const text of hookRouteTexts(changed, routes, protocols)) log.info(text);
    for (const text of textFunctionTexts(changedFunctions, functions)) log.info(text);
    routes = changed;
    for (const [model, names] of changedFunctions) functions.set(model, names);
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
