import type { HookRoutes } from "../serving/hook-routes.ts";
import type { NamedHttpProtocol } from "./http-route.ts";

/** The name of the protocol that a path belongs to; undefined = to none. */
export function ownerOf(path: string, protocols: readonly NamedHttpProtocol[]): string | undefined {
  const owner = protocols.find(({ inference, routes = [], prefix }) => {
    if (inference.some(({ find }) => find(path) !== undefined)) return true;
    return routes.some((route) => route.path === path) || prefix?.test(path);
  });
  return owner?.name;
}

/** One line for each model whose hooks answer other routes than before, with the protocols whose place they take. */
export function hookRouteTexts(
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
