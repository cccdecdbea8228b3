import { HttpError } from "../../proxy/http-errors.ts";
import type { HttpDependencies, HttpRoute, HttpRoutes } from "../../proxy/http-route.ts";
import type { KserveEndpoint } from "./http-endpoint.ts";
import { KSERVE_ENDPOINTS } from "./http-endpoints.ts";
import { noSharedMemory } from "./shared-memory.ts";

const REGISTER = /^\/v2\/(?:system|cuda)sharedmemory\/(?:region\/[^/]+\/)?register\/?$/;
const PREFIX = /^\/v2(?:[/?]|$)/;

/** KServe V2 over HTTP; all else under `/v2` is refused as Triton does. */
export function createKserveRoutes(dependencies: HttpDependencies): HttpRoutes {
  const routes = KSERVE_ENDPOINTS.map((endpoint) => ({ endpoint, pattern: toPattern(endpoint.path) }));
  return (method, url) => {
    if (!PREFIX.test(url)) return undefined;
    const [path = ""] = url.split("?", 1);
    let isKnown = false;
    for (const { endpoint, pattern } of routes) {
      const groups = pattern.exec(path)?.groups;
      if (groups === undefined) continue;
      isKnown = true;
      if (endpoint.method === method) return toRoute(endpoint, groups, dependencies);
    }
    if (REGISTER.test(path)) return refuse(noSharedMemory());
    return refuse(isKnown ? new HttpError(405, "Method Not Allowed") : new HttpError(404, "Not Found"));
  };
}

/** `{name}`, `{version}` and `{region}` become groups; `(?<_>)` makes groups of a path that has none. */
function toPattern(path: string): RegExp {
  const pattern = path
    .replace("{version}", "(?<version>[0-9]+)")
    .replace(/\{(name|region)\}/, (_, group: string) => `(?<${group}>[^/]+)`);
  return new RegExp(`^(?<_>)${pattern}/?$`);
}

function toRoute(
  { kind, answer }: KserveEndpoint,
  { name = "", version = "", region = "" }: Record<string, string>,
  dependencies: HttpDependencies,
): HttpRoute {
  const target = { model: decode(name), version, region: decode(region) };
  return { kind, answer: (exchange) => answer({ ...dependencies, ...target, exchange }) };
}

function refuse(reason: Error): HttpRoute {
  const answer = async () => {
    throw reason;
  };
  return { kind: "read", answer };
}

/** Names are percent-encoded by clients; one that is not stays as it is. */
function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
