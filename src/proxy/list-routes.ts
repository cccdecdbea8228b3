import type { HttpProtocol } from "./http-route.ts";

/** A list of routes for clients that ask for another: those that run models, and those that need to know nothing. */
export function listRoutes(protocols: readonly HttpProtocol[]): string {
  const routes = protocols.flatMap(({ inference, routes = [] }) => [
    ...inference.map(({ path }) => `POST ${toPlainPath(path)}`),
    ...routes.filter(({ method, path }) => method === "GET" && !path.includes(":")).map(({ path }) => `GET ${path}`),
  ]);
  return routes.join(", ");
}

/** `/v1/models/:name{/versions/:version}\\:predict` as people write it: `/v1/models/NAME[/versions/VERSION]:predict`. */
function toPlainPath(path: string): string {
  const named = path.replace(/(?<!\\):([a-z]+)/g, (_, name: string) => name.toUpperCase());
  return named.replaceAll("{", "[").replaceAll("}", "]").replaceAll("\\", "");
}
