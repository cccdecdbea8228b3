import { TEXT_FUNCTIONS } from "../hooks/text-entries.ts";
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

/** The functions of hooks that answer requests about texts, by the name of the model. */
export type TextFunctions = ReadonlyMap<string, readonly string[]>;

/** Those of the versions that answer if none is named. */
export function toTextFunctions(models: readonly ManagedModel[]): TextFunctions {
  const found = models.map(({ name, current }) => {
    const entries = current?.servable?.description.hooks?.entries ?? [];
    return [name, TEXT_FUNCTIONS.filter((each) => entries.includes(each))] as const;
  });
  return new Map(found.filter(([, names]) => names.length > 0));
}

/** The first route of each function; docs/openai.md has all. */
const FIRST_ROUTES: Readonly<Record<string, string>> = {
  chat: "POST /v1/chat/completions",
  complete: "POST /v1/completions",
  embed: "POST /v1/embeddings",
  rerank: "POST /v1/rerank",
};

/** One line for each model that has other functions than before: one may be there by its name alone. */
export function textFunctionTexts(functions: TextFunctions, before: TextFunctions): readonly string[] {
  const changed = [...functions].filter(([model, names]) => before.get(model)?.join() !== names.join());
  return changed.map(([model, names]) => {
    const routes = names.map((name) => `${FIRST_ROUTES[name]} by ${name}`);
    return `the hooks of the model ${model} answer ${routes.join(", ")}, and the same in other protocols`;
  });
}
