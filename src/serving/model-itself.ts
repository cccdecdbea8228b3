import type { ModelFacts } from "../models/model-facts.ts";
import type { ServableDescription } from "./servable-description.ts";

/** The model whose inputs and outputs clients see: the only one, without hooks; undefined if there is none such. */
export function modelItself({ models = [], hooks }: ServableDescription): ModelFacts | undefined {
  const [only, second] = models;
  return second === undefined && !hooks?.hookPlaces.length ? only : undefined;
}
