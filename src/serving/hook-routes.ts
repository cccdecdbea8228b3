import type { ManagedModel } from "./managed-model.ts";
import { isRoute } from "./route-claims.ts";

/** HTTP routes that hooks declare: by path and by method, the name of the model that answers. */
export type HookRoutes = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** The routes of the versions that answer if none is named; of two models with the same one, the first. */
export function toHookRoutes(models: readonly ManagedModel[]): HookRoutes {
  const routes = new Map<string, Map<string, string>>();
  for (const { name, current } of models) {
    for (const entry of current?.servable?.description.hooks?.entries?.filter(isRoute) ?? []) {
      const [method, path] = entry.split(" ", 2) as [string, string];
      const methods = routes.get(path) ?? new Map<string, string>();
      if (!methods.has(method)) methods.set(method, name);
      routes.set(path, methods);
    }
  }
  return routes;
}
