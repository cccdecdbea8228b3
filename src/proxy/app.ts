import type { Express, RequestHandler } from "express";
import express from "express";
import type { ErrorHint } from "../error-info.ts";
import { meantText, nearest } from "../platform/text/nearest.ts";
import { answerRequest, chosenBy } from "./answer-request.ts";
import { answerUnrouted, type Place } from "./answer-unrouted.ts";
import { permitOrigin } from "./cors.ts";
import { createErrorMiddleware, HttpError } from "./http-errors.ts";
import type { HttpDependencies, HttpProtocol, HttpRoute, InferenceRoute, NamedHttpProtocol } from "./http-route.ts";

/** An Express application with the protocols' routes other than inference; it does not listen. */
export function createApp(protocols: readonly NamedHttpProtocol[], dependencies: HttpDependencies): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.disable("query parser");
  app.enable("case sensitive routing");
  for (const protocol of protocols) mount(app, protocol, dependencies);
  app.use(unrouted({ protocol: nowhere(protocols), routes: [] }, dependencies));
  app.use(createErrorMiddleware(dependencies.log));
  return app;
}

const EXPRESS_METHODS = { GET: "get", POST: "post", DELETE: "delete" } as const;

function mount(app: Express, protocol: NamedHttpProtocol, dependencies: HttpDependencies): void {
  const { inference, routes = [], prefix } = protocol;
  const router = protocol.anyCase === true ? express.Router({ caseSensitive: false }) : app;
  const inferring = inference.map(({ path }) => ({ method: "POST", path, kind: "inference" }) as const);
  for (const path of new Set([...inferring, ...routes].map((route) => route.path))) {
    const isHere = (route: { readonly path: string }) => route.path === path;
    const own = routes.filter(isHere);
    const place = router.route(path);
    for (const route of own) place[EXPRESS_METHODS[route.method]](routed(route, protocol, dependencies));
    // Where all of them leave requests to other protocols, those are not refused here.
    if (inferring.some(isHere) || own.some(({ takes }) => takes === undefined))
      place.all(unrouted({ protocol, routes: [...own, ...inferring.filter(isHere)] }, dependencies));
  }
  if (router !== app) app.use(router);
  if (prefix !== undefined) app.all(prefix, unrouted({ protocol, routes: [] }, dependencies));
}

/** Express also answers HEAD by a GET route. */
function routed(
  route: HttpRoute,
  protocol: NamedHttpProtocol,
  dependencies: HttpDependencies,
): RequestHandler<Record<string, string>> {
  const { kind, isForOwnPage, takes } = route;
  const choose = chosenBy(route, protocol);
  return (request, response, next) => {
    const pair = { request, response };
    if (takes?.(request) === false) return next("route");
    if (kind !== "control" && isForOwnPage !== true) permitOrigin(pair, dependencies.policy);
    void answerRequest(choose(request.params), pair, dependencies);
  };
}

function unrouted(place: Place, dependencies: HttpDependencies): RequestHandler {
  return (request, response) => answerUnrouted(place, { request, response }, dependencies);
}

/** Pattern of all URLs that belong to no protocol. */
function nowhere(protocols: readonly HttpProtocol[]): HttpProtocol {
  const routes = listRoutes(protocols);
  const own = protocols.filter(({ isOtherForm }) => isOtherForm !== true);
  const told = listRoutes(own.map((each) => ({ ...each, inference: each.inference.filter(isTold) })));
  const there = told.filter((route) => !VERSION.test(route) || !routes.includes(route.replace(VERSION, "")));
  const refuse: HttpProtocol["refuse"] = ({ method, url = "" }) => {
    const [path = ""] = url.split("?", 1);
    const asked = `${method} ${path}`;
    const flag = protocols.find(({ turnedOff }) => turnedOff?.paths.test(path))?.turnedOff?.without;
    if (flag !== undefined)
      return new HttpError(
        404,
        `There is no ${asked} here, as this server runs without ${flag}; start it with ${flag}.`,
      );
    const didYouMean = nearestRoute(asked, routes);
    const hint: ErrorHint = { reason: "UNKNOWN_ROUTE", field: asked, didYouMean };
    const meant = meantText(didYouMean);
    return new HttpError(404, `There is no ${asked} here.${meant} There is ${there.join(", ")}.`, {}, { hint });
  };
  return { inference: [], refuse, docsOf: protocols.find(({ docsOf }) => docsOf)?.docsOf };
}

/** Longest request for an unknown route that is compared with the known ones: each comparison takes time. */
const MAX_COMPARED = 50;

/** The end that a path may lack, as its route is shown: `/predict[/MODEL]`. */
const OPTIONAL_END = /\[[^:]*\]$/;

/** The route of the same method whose path is nearest. */
function nearestRoute(asked: string, routes: readonly string[]): string | undefined {
  if (asked.length > MAX_COMPARED) return undefined;
  const [method = "", path = ""] = asked.split(" ");
  const ways = routes.map((route) => route.split(" "));
  const found = nearest(
    path,
    ways.flatMap(([other, way = ""]) => (other === method ? way.replace(OPTIONAL_END, "") : [])),
  );
  return found && `${method} ${found}`;
}

/**
 * The routes that the 404 error for an unknown URL tells: those that run models, and those without parameters but for
 * what the server's own page asks for.
 */
function listRoutes(protocols: readonly HttpProtocol[]): readonly string[] {
  const listed = protocols.flatMap(({ inference, routes = [] }) => [
    ...inference.map(({ path }) => `POST ${toPlainPath(path)}`),
    ...routes.filter(isListed).map(({ path }) => `GET ${path}`),
  ]);
  return [...new Set(listed)];
}

function isTold({ isUntold }: InferenceRoute): boolean {
  return isUntold !== true;
}

/** The part of a path that names a version; the same path without it is listed, where there is one. */
const VERSION = /\/versions\/VERSION(?=\/)/;

function isListed({ method, path, isForOwnPage }: HttpRoute): boolean {
  return method === "GET" && !path.includes(":") && isForOwnPage !== true;
}

/** `/v1/models/:name{/versions/:version}\\:predict` in readable form: `/v1/models/NAME[/versions/VERSION]:predict`. */
function toPlainPath(path: string): string {
  const named = path.replace(/(?<!\\):([a-z]+)/g, (_, name: string) => name.toUpperCase());
  return named.replaceAll("{", "[").replaceAll("}", "]").replaceAll("\\", "");
}
