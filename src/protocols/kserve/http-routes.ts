import type { IncomingMessage } from "node:http";
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
import { noSharedMemory } from "./shared-memory.ts";

const PREFIX = /^\/v2(?:\/|$)/;
const REGISTER = /^\/v2\/(?:system|cuda)sharedmemory\/(?:region\/[^/]+\/)?register\/?$/;

/** KServe V2 over HTTP; all else under `/v2` is refused as Triton does. */
export const createKserveHttp: CreateHttpProtocol = (dependencies) => ({
  inference: KSERVE_ENDPOINTS.flatMap((endpoint) => toInferenceRoute(endpoint, dependencies) ?? []),
  routes: KSERVE_ENDPOINTS.flatMap((endpoint) => toRoute(endpoint, dependencies) ?? []),
  prefix: PREFIX,
  refuse,
});

function toInferenceRoute(endpoint: KserveEndpoint, dependencies: HttpDependencies): InferenceRoute | undefined {
  if (endpoint.kind !== "inference") return undefined;
  const pattern = toPattern(endpoint.path);
  const find = (url: string) => {
    const { groups } = pattern.exec(url) ?? {};
    return groups && toHandler(endpoint, { ...groups, name: decode(groups.name) }, dependencies);
  };
  return { path: toExpressPath(endpoint.path), find };
}

function toRoute(endpoint: KserveEndpoint, dependencies: HttpDependencies): HttpRoute | undefined {
  const { kind, method, path } = endpoint;
  if (kind === "inference") return undefined;
  const answer: HttpRoute["answer"] = (exchange, { ...parameters }) => {
    const { version = "" } = parameters;
    if (/[^0-9]/.test(version)) throw new HttpError(404, "Not Found");
    return toHandler(endpoint, parameters, dependencies)(exchange);
  };
  return { kind, method, path: toExpressPath(path), answer };
}

function toHandler(
  { answer }: KserveEndpoint,
  parameters: PathParameters,
  dependencies: HttpDependencies,
): RouteHandler {
  const { name: model = "", version = "", region = "" } = parameters;
  return (exchange) => answer({ ...dependencies, model, version, region, exchange });
}

/** `{name}` as Express has it. */
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
  if (REGISTER.test(path)) return noSharedMemory();
  if (methods.length > 0) return new HttpError(405, "Method Not Allowed", { allow: methods.join(", ") });
  return new HttpError(404, "Not Found");
}

/** Names are percent-encoded by clients; one that is not stays as it is. */
function decode(name = ""): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
