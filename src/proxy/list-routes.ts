import type { HttpProtocol, HttpRoute } from "./http-route.ts";

/**
 * The routes in the 404 error for an unknown URL: those that run models, and those without parameters but for what the
 * server's own page asks for.
 */
export function listRoutes(protocols: readonly HttpProtocol[]): string {
  const routes = protocols.flatMap(({ inference, routes = [] }) => [
    ...inference.map(({ path }) => `POST ${toPlainPath(path)}`),
    ...routes.filter(isListed).map(({ path }) => `GET ${path}`),
  ]);
  return routes.join(", ");
}

function isListed({ method, path, isForOwnPage }: HttpRoute): boolean {
  return method === "GET" && !path.includes(":") && isForOwnPage !== true;
}

/** `/v1/models/:name{/versions/:version}\\:predict` in readable form: `/v1/models/NAME[/versions/VERSION]:predict`. */
function toPlainPath(path: string): string {
  const named = path.replace(/(?<!\\):([a-z]+)/g, (_, name: string) => name.toUpperCase());
  return named.replaceAll("{", "[").replaceAll("}", "]").replaceAll("\\", "");
}
