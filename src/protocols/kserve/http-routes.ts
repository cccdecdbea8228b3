import type { IncomingMessage } from "node:http";
import { invalidArgument } from "../../errors.ts";
import { HttpError } from "../../proxy/http-errors.ts";
import type {
  CreateHttpProtocol,
  HttpDependencies,
  HttpRoute,
  InferenceRoute,
  PathParameters,
  RouteHandler,
} from "../../proxy/http-route.ts";
import type { KserveEndpoint } from "./http-endpoint.ts";
import { KSERVE_ENDPOINTS } from "./http-endpoints.ts";

/** Path of the document that Triton does not have. */
const OWN_PATH = "/v2/openapi.json";
const PREFIX = /^\/v2(?:\/|$)/;
/** A registration without the name of a region, as a group: its kind. */
const NAMELESS = /^\/v2\/(system|cuda)sharedmemory\/register\/?$/;
/** A version that is not a number, as a group. */
const BAD_VERSION = /^\/v2\/models\/[^/]+\/versions\/(?![0-9]+(?:\/|$))([^/]+)/;

/** KServe V2 over HTTP; all else under `/v2` is refused as Triton does. */
export const createKserveHttp: CreateHttpProtocol = (dependencies) => ({
  inference: KSERVE_ENDPOINTS.flatMap((endpoint) => toInferenceRoute(endpoint, dependencies) ?? []),
  routes: KSERVE_ENDPOINTS.flatMap((endpoint) => toRoute(endpoint, dependencies) ?? []),
  prefix: PREFIX,
  refuse,
});

function toInferenceRoute(endpoint: KserveEndpoint, dependencies: HttpDependencies): InferenceRoute | undefined {
  if (!runsModel(endpoint)) return undefined;
  const pattern = toPattern(endpoint.path);
  const find = (url: string) => {
    const { groups } = pattern.exec(url) ?? {};
    return groups && toHandler(endpoint, { name: decode(groups.name), version: groups.version }, dependencies);
  };
  return { path: toExpressPath(endpoint.path), find };
}

function toRoute(endpoint: KserveEndpoint, dependencies: HttpDependencies): HttpRoute | undefined {
  const { kind, method, path } = endpoint;
  if (runsModel(endpoint)) return undefined;
  const answer: HttpRoute["answer"] = (exchange, { ...parameters }) => {
    const { version = "" } = parameters;
    if (/[^0-9]/.test(version)) throw noVersion(version);
    return toHandler(endpoint, parameters, dependencies)(exchange);
  };
  const route = { kind, method, path: toExpressPath(path), answer };
  // Triton's client keeps the header of an inference for its later calls, and inflates the answers to inference alone.
  return path === OWN_PATH ? route : { ...route, neverCompressed: true };
}

/** Checks for the endpoints that are not served by Express, since they are called most. */
function runsModel({ path }: KserveEndpoint): boolean {
  return path.endsWith("/infer");
}

function toHandler(
  { answer }: KserveEndpoint,
  parameters: PathParameters,
  { service, sharedMemory, settings, tracer, log }: HttpDependencies,
): RouteHandler {
  const { name: model = "", version = "", region = "" } = parameters;
  return (exchange) => answer({ service, sharedMemory, settings, tracer, log, model, version, region, exchange });
}

/** `{name}` in Express' form. */
function toExpressPath(path: string): string {
  return path.replaceAll(/\{([a-z]+)\}/g, ":$1");
}

/** `{name}` and `{version}` as groups, for a whole URL. */
function toPattern(path: string): RegExp {
  const pattern = path.replace("{version}", "(?<version>[0-9]+)").replace("{name}", "(?<name>[^/]+)");
  return new RegExp(`^${pattern}/?(?:\\?|$)`);
}

function refuse({ url = "" }: IncomingMessage, methods: readonly string[]): Error {
  const [path = ""] = url.split("?", 1);
  const kind = NAMELESS.exec(path)?.[1];
  if (kind !== undefined) return invalidArgument(`'region name' is necessary to register ${kind} shared memory region`);
  const version = BAD_VERSION.exec(path)?.[1];
  if (version !== undefined) return noVersion(version);
  if (methods.length > 0) return new HttpError(405, "Method Not Allowed", { allow: methods.join(", ") });
  return new HttpError(404, "Not Found");
}

function noVersion(version: string): HttpError {
  return new HttpError(404, `Not Found: "${version}" is not a version; expected a number, such as 1.`);
}

/** Clients percent-encode names; a name without encoding stays unchanged. */
function decode(name = ""): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
