import type { CallKind } from "../access/caller.ts";
import { answerRequest, type RequestPair } from "./answer-request.ts";
import { answerPreflight, isPreflight, permitOrigin } from "./cors.ts";
import { HttpError } from "./http-errors.ts";
import type { HttpAnswer, HttpDependencies, HttpProtocol, RouteHandler } from "./http-route.ts";

/** A path of a protocol and its routes; no routes for a path that the protocol does not know. */
export interface Place {
  readonly protocol: HttpProtocol;
  readonly routes: readonly { readonly method: string; readonly kind: CallKind }[];
}

/** Answers a request without a route: a preflight, OPTIONS, or an error. */
export function answerUnrouted({ protocol, routes }: Place, pair: RequestPair, dependencies: HttpDependencies): void {
  const { request } = pair;
  const { docsOf, errorForm, keyHeader } = protocol;
  const isAsked = isPreflight(request);
  const method = isAsked ? request.headers["access-control-request-method"] : request.method;
  const isControl = routes.some((route) => route.method === method && route.kind === "control");
  const isPermitted = !isControl && permitOrigin(pair, dependencies.policy);
  if (isAsked && isPermitted) answerPreflight(pair);
  else
    void answerRequest(
      { kind: "read", docsOf, errorForm, keyHeader, answer: handlerOf(request.method, { protocol, routes }) },
      pair,
      dependencies,
    );
}

function handlerOf(method: string | undefined, { protocol, routes }: Place): RouteHandler {
  const { refuse = refuseMethod, answerOptions } = protocol;
  const methods = routes.flatMap((route) => (route.method === "GET" ? ["GET", "HEAD"] : [route.method]));
  if (method === "OPTIONS" && answerOptions !== undefined) return answerOptions;
  if (method === "OPTIONS" && methods.length > 0) return async () => toOptions(methods);
  return async ({ request }) => {
    throw refuse(request, methods);
  };
}

function toOptions(methods: readonly string[]): HttpAnswer {
  return {
    contentType: "application/json",
    body: Buffer.alloc(0),
    headers: { allow: [...methods, "OPTIONS"].join(", ") },
  };
}

function refuseMethod({ method }: { readonly method?: string | undefined }, methods: readonly string[]): HttpError {
  const allow = methods.join(", ");
  return new HttpError(405, `${method} is not possible here; send ${methods[0]}.`, { allow });
}
