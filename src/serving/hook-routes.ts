import { failedPrecondition } from "../errors.ts";
import { TEXT_FUNCTIONS } from "../hooks/text-entries.ts";
import type { CatalogModel } from "./catalog-view.ts";

/** HTTP routes that hooks declare: by path and by method, the name of the model that answers. */
export type HookRoutes = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** The routes of the versions that answer if none is named; of two models with the same one, the first. */
export function toHookRoutes(models: readonly CatalogModel[]): HookRoutes {
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

/** The functions of hooks that answer requests about texts, by the name of the model. */
export type FunctionsByModel = ReadonlyMap<string, readonly string[]>;

/** Those of the versions that answer if none is named. */
export function toTextFunctions(models: readonly CatalogModel[]): FunctionsByModel {
  const found = models.map(({ name, current }) => {
    const entries = current?.servable?.description.hooks?.entries ?? [];
    return [name, TEXT_FUNCTIONS.filter((each) => entries.includes(each))] as const;
  });
  return new Map(found.filter(([, names]) => names.length > 0));
}

/**
 * One line for each model that has other functions than it had the last time it was there: one may be there by its name
 * alone. `before` has those that have been told.
 */
export function textFunctionTexts(functions: FunctionsByModel, before: FunctionsByModel): readonly string[] {
  const changed = [...functions].filter(([model, names]) => before.get(model)?.join() !== names.join());
  return changed.map(
    ([model, names]) => `the hooks of the model ${model} answer requests about texts and media by ${names.join(", ")}`,
  );
}

/** The HTTP routes that the hooks of each model declare; no two models have the same. */
export class RouteClaims {
  readonly #claims = new Set<{ readonly model: string; readonly routes: readonly string[] }>();

  /**
   * Reserves the routes for a model's hooks until the returned function is called; versions of one model share theirs.
   * Throws `failed_precondition` with both models for a route that another one has.
   */
  claim(model: string, routes: readonly string[]): () => void {
    for (const other of this.#claims) {
      const taken = other.model === model ? undefined : routes.find((route) => other.routes.includes(route));
      if (taken !== undefined) throw isTaken(taken, model, other.model);
    }
    const claim = { model, routes: routes.filter(isRoute) };
    if (claim.routes.length > 0) this.#claims.add(claim);
    return () => this.#claims.delete(claim);
  }
}

/** Checks if the name of a hook file's function is that of an HTTP route: `POST /score`. */
function isRoute(entry: string): boolean {
  return entry.includes(" /");
}

function isTaken(route: string, model: string, other: string) {
  return failedPrecondition(
    `The hooks of the model ${model} declare the route ${route}, which those of the model ${other} have already; give one of them another path.`,
  );
}
