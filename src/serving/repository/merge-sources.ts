import type { RawOptions } from "../../drivers/option-table.ts";
import { problemsOfNeeds } from "../check-needs.ts";
import { type ModelConfig, toNeedingModel } from "./config/model-config.ts";

/** Title of the command line as a place that describes models. */
export const COMMAND_LINE = "the command line";

/** One place that describes models, as it was read last. */
export interface DescribingPlace {
  /** Its name, for messages. */
  readonly title: string;
  readonly models: readonly ModelConfig[];
  /** Options for all TensorFlow models of all places. */
  readonly batching?: RawOptions | undefined;
}

/** The models of all places, each name once. */
interface MergedSources {
  readonly models: readonly ModelConfig[];
  /** A sentence for each name that is described again; its first description counts. */
  readonly conflicts: readonly string[];
  /** Options for TensorFlow models. */
  readonly batching: RawOptions;
}

/** Merges what places describe, in their order. A model's own options count before the `shared` ones of all. */
export function mergeSources(places: readonly DescribingPlace[], shared: RawOptions): MergedSources {
  const batching: RawOptions = Object.assign({}, ...places.map((place) => place.batching));
  const first = new Map<string, Described>();
  const conflicts: string[] = [];
  for (const { title, models } of places) {
    for (const model of models) {
      const earlier = first.get(model.name);
      if (earlier === undefined) first.set(model.name, { title, model });
      else conflicts.push(conflictOf(earlier, { title, model }));
    }
  }
  const models = Array.from(first.values(), ({ model }) => {
    const ofDriver = model.driver === "tensorflow" ? batching : {};
    return { ...model, options: { ...ofDriver, ...shared, ...model.options } };
  });
  return { models, conflicts, batching };
}

/** The models with the reason why one cannot be served for want of others that its stages name. */
export function refuseByNeeds(models: readonly ModelConfig[]): readonly ModelConfig[] {
  const problems = problemsOfNeeds(models.map(toNeedingModel));
  return models.map((model) => {
    const refusal = problems.get(model.name)?.replace(/\.$/, "");
    return { ...(refusal && { refusal }), ...model };
  });
}

interface Described {
  readonly title: string;
  readonly model: ModelConfig;
}

function conflictOf(earlier: Described, later: Described): string {
  return `The model "${later.model.name}" is described by ${placesOf(earlier, later)}; expected each name once.`;
}

/** The places that describe a name twice; of one place, the models: on the command line their files are their names. */
function placesOf(earlier: Described, later: Described): string {
  const [one, other] = [earlier, later].map(({ model: { path = "" } }) => path);
  if (earlier.title !== later.title || one === "" || other === "") return `${earlier.title} and by ${later.title}`;
  const advice = later.title === COMMAND_LINE ? " (--model NAME=PATH gives another name)" : "";
  return `${later.title} twice, for ${one} and ${other}${advice}`;
}
