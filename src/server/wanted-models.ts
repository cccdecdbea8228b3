import type { AspiredModel } from "../serving/aspired-model.ts";
import { withNeeds } from "../serving/check-needs.ts";

/** The models of these names, and those that they need. */
export function wantedModels(names: ReadonlySet<string>, models: readonly AspiredModel[]): readonly AspiredModel[] {
  const needs = models.map(({ name, versions }) => ({
    name,
    needs: versions.flatMap((version) => version.needs ?? []),
  }));
  const chosen = withNeeds(names, needs);
  const found = models.filter(({ name }) => chosen.has(name));
  return found.map((model) => ({ ...model, isDependencyOnly: !names.has(model.name) }));
}
