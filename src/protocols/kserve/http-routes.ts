import { HttpError } from "../../proxy/http-errors.ts";
import type { HttpDependencies, HttpRoutes, RouteHandler } from "../../proxy/http-route.ts";
import { KSERVE_ENDPOINTS, type KserveEndpoint } from "./http-endpoints.ts";
import { noSharedMemory } from "./shared-memory.ts";

const PREFIX = /^\/v2(?:[/?]|$)/;
const SHARED_MEMORY = /^\/v2\/(?:system|cuda)sharedmemory\//;

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
      if (endpoint.method === method) return toHandler(endpoint, groups, dependencies);
    }
    if (SHARED_MEMORY.test(path)) return refuse(noSharedMemory());
    return refuse(isKnown ? new HttpError(405, "Method Not Allowed") : new HttpError(404, "Not Found"));
  };
}

/** `{name}` and `{version}` become groups; `(?<_>)` makes groups of a path that has none. */
function toPattern(path: string): RegExp {
  const pattern = path.replace("{name}", "(?<name>[^/]+)").replace("{version}", "(?<version>[0-9]+)");
  return new RegExp(`^(?<_>)${pattern}/?$`);
}

function toHandler(
  { answer }: KserveEndpoint,
  { name = "", version = "" }: Record<string, string>,
  dependencies: HttpDependencies,
): RouteHandler {
  const target = { model: decode(name), version };
  return (exchange) => answer({ ...dependencies, ...target, exchange });
}

function refuse(reason: Error): RouteHandler {
  return async () => {
    throw reason;
  };
}

/** Names are percent-encoded by clients; one that is not stays as it is. */
function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
