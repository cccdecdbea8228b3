import { invalidArgument } from "../../errors.ts";
import type { InferenceService } from "../../serving/inference-service.ts";

/** The model of a request that names none. */
const DEFAULT_MODEL = "default";
/** Names that an error lists. */
const MAX_NAMES = 20;

/**
 * The model that a request means: the one that it names, else `default`, or the only one. Throws `invalid_argument`
 * with the original's text for a model that is not served; where another server answers, that one decides.
 */
export function chooseModel(service: InferenceService, name: string | undefined): string {
  const served = [...new Set(service.index().map(({ model }) => model))];
  if (name === undefined && served.length <= 1) return "";
  const model = name ?? DEFAULT_MODEL;
  if (served.length === 0 || served.includes(model)) return model;
  const names = served.slice(0, MAX_NAMES).map((each) => `'${each}'`);
  throw invalidArgument(`Invalid model name: ${model}, available models: [${names.join(", ")}]`);
}
