import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { ServingError } from "../errors.ts";
import { createHookRouter } from "./hook-router.ts";
import { HttpError, sendError } from "./http-errors.ts";
import type { HttpDependencies, NamedHttpProtocol } from "./http-route.ts";
import { createInferenceRouter, type InferenceRouter } from "./inference-router.ts";
import { type Connect, passOn } from "./pass-on.ts";

/**
 * Answers every request: routes of hooks where these are wanted, and inference, by the
 * whole URL, all others by an Express application.
 */
export function createRequestListener(
  protocols: readonly NamedHttpProtocol[],
  dependencies: HttpDependencies,
  { hookRoutes = true, connect }: RestRoutes = {},
): RequestListener {
  const pass = connect && passOn(connect, dependencies.log);
  const ofHooks = pass ? passHookRoutes(dependencies, pass) : hookRouter(hookRoutes, protocols, dependencies);
  const route = createInferenceRouter(protocols, dependencies);
  const app = pass ?? lazyApp(protocols, dependencies);
  return (request: IncomingMessage, response: ServerResponse) => {
    toOriginForm(request);
    const refusal = requestRefusal(request);
    if (refusal !== undefined) sendError(refusal, { request, response, log: dependencies.log });
    else if (!ofHooks(request, response) && !route(request, response)) app(request, response);
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
 * Loads Express with the first request that is not inference: loading it takes longer
 * than all the rest of this transport.
 */
function lazyApp(protocols: readonly NamedHttpProtocol[], dependencies: HttpDependencies): RequestListener {
  let app: Promise<RequestListener> | undefined;
  return async (request, response) => {
    app ??= import("./app.ts").then(({ createApp }) => createApp(protocols, dependencies));
    try {
      (await app)(request, response);
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

/** In its list too, which is passed on; a missing one stays missing, where it has to be there. */
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

const VERSIONS: ReadonlySet<string> = new Set(["1.0", "1.1"]);
/**
 * A host's name or address with an optional port: no characters that end an authority
 * or separate a list (RFC 9110 §7.2).
 */
const HOST = /^[^\s/?#@\\,]*$/;
/**
 * The connection is closed after a refused head, since the end of the request may be ambiguous.
 */
const CLOSE = { connection: "close" };

/** The error for a request whose head Node's parser accepts but this server does not; undefined for any other. */
function requestRefusal(request: IncomingMessage): HttpError | undefined {
  const { httpVersion, headers } = request;
  if (!VERSIONS.has(httpVersion)) return badVersion(httpVersion);
  const hosts = countHosts(request.rawHeaders);
  if (hosts === 0 && httpVersion === "1.1") return refusal(400, "The request has no Host header; send one.");
  if (hosts > 1) return refusal(400, `The request has ${hosts} Host headers; send one.`);
  if (headers.host !== undefined && !HOST.test(headers.host)) {
    return refusal(400, "The Host header is not HOST or HOST:PORT.");
  }
  return encodingRefusal(headers["transfer-encoding"], httpVersion);
}

/** The error for an unsupported version (RFC 9110 §15.6.6). */
function badVersion(version: string): HttpError {
  return refusal(505, `HTTP/${version} is not spoken here; send HTTP/1.1, or gRPC to the gRPC port.`);
}

/** Names in lower case or not, as received. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count;
}

/** The parser accepts any list that ends in chunked, and decodes only chunked (RFC 9112 §6.1). */
function encodingRefusal(encoding: string | undefined, httpVersion: string): HttpError | undefined {
  if (encoding === undefined) return undefined;
  if (httpVersion === "1.0") return refusal(400, "HTTP/1.0 has no Transfer-Encoding; send Content-Length.");
  if (encoding.trim().toLowerCase() === "chunked") return undefined;
  return refusal(
    501,
    `Transfer-Encoding "${encoding.slice(0, 100)}" is not supported; send chunked, or Content-Length.`,
  );
}

function refusal(status: number, message: string): HttpError {
  return new HttpError(status, message, CLOSE);
}
