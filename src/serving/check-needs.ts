import { servedNames } from "./served-names.ts";

/** A model and the models of this server that its stages name. */
export interface NeedingModel {
  readonly name: string;
  readonly needs: readonly string[];
  /** Names of the models to which its requests are routed or copied. */
  readonly traffic?: readonly string[];
}

/** Reasons, by name, why models cannot be served: their stages name a missing model, or name each other in a circle. */
export function problemsOfNeeds(models: readonly NeedingModel[]): ReadonlyMap<string, string> {
  const needs = new Map(models.map((model) => [model.name, model.needs]));
  const problems = new Map<string, string>();
  for (const model of models) {
    const problem = unknownOf(model, needs) ?? circleOf(model.name, needs);
    if (problem !== undefined) problems.set(model.name, problem);
  }
  return problems;
}

type Needs = ReadonlyMap<string, readonly string[]>;

function unknownOf({ name, needs: own, traffic = [] }: NeedingModel, needs: Needs): string | undefined {
  const isUnknown = (other: string) => !needs.has(other);
  const [stage, target] = [own.find(isUnknown), traffic.find(isUnknown)];
  const unknown = stage ?? target;
  if (unknown === undefined) return undefined;
  const what = stage === undefined ? `The split or shadow of ${name} names` : `A stage of ${name} is`;
  const names = [...needs.keys()].filter((other) => other !== name);
  return `${what} the model "${unknown}", which is not described.${servedNames(unknown, names)}`;
}

function circleOf(name: string, needs: Needs): string | undefined {
  const path = pathBetween(name, name, needs);
  return path && `The stages of ${name} need one another in a circle: ${path.join(" → ")}; leave one of them out.`;
}

/** The models on the shortest path from one model to another by the models that they need, both ends included. */
function pathBetween(from: string, to: string, needs: Needs): readonly string[] | undefined {
  const seen = new Set<string>();
  let paths = [[from]];
  while (paths.length > 0) {
    const longer: string[][] = [];
    for (const path of paths) {
      for (const next of needs.get(path.at(-1) as string) ?? []) {
        if (next === to) return [...path, next];
        if (!seen.has(next)) longer.push([...path, next]);
        seen.add(next);
      }
    }
    paths = longer;
  }
  return undefined;
}

/** The names of models and of all the models that they need, directly or indirectly. */
export function withNeeds(names: Iterable<string>, models: readonly NeedingModel[]): ReadonlySet<string> {
  const needs = new Map(models.map((model) => [model.name, model.needs]));
  // A set that grows while it is iterated also visits the added elements.
  const all = new Set(names);
  for (const name of all) for (const other of needs.get(name) ?? []) all.add(other);
  return all;
}
