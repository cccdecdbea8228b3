import type { RawOptions } from "../../drivers/option-table.ts";
import { problemsOfNeeds } from "../check-needs.ts";
import { type ModelConfig, toNeedingModel } from "./config/model-config.ts";

/** Title of the command line as a place that describes models. */
export const COMMAND_LINE = "the command line";

interface Named {
  readonly name: string;
  readonly path?: string | undefined;
}

/** One place that describes models, as it was read last. */
export interface Place<Model extends Named> {
  /** Its name, for messages. */
  readonly title: string;
  readonly models: readonly Model[];
  /** True if it describes models of other places in another way, which counts. */
  readonly overrides?: boolean;
}

/** A place whose models have not been looked for. */
export interface DescribingPlace extends Place<ModelConfig> {
  /** Options for all TensorFlow models of all places. */
  readonly batching?: RawOptions | undefined;
}

/** The models of all places, each name once. */
interface Merged<Model> {
  readonly models: readonly Model[];
  /** A sentence for each name that is described again; its first description counts. */
  readonly conflicts: readonly string[];
}

interface MergedSources extends Merged<ModelConfig> {
  /** Options for TensorFlow models. */
  readonly batching: RawOptions;
}

/** Merges the models of places, in their order. */
export function mergePlaces<Model extends Named>(places: readonly Place<Model>[]): Merged<Model> {
  const isOver = ({ overrides = false }: Place<Model>) => overrides;
  const over = new Set(places.filter(isOver).flatMap(({ models }) => models.map(({ name }) => name)));
  const first = new Map<string, Described<Model>>();
  const conflicts: string[] = [];
  for (const place of places) {
    for (const model of place.models) {
      if (over.has(model.name) && !isOver(place)) continue;
      const [earlier, described] = [first.get(model.name), { title: place.title, model }];
      if (earlier === undefined) first.set(model.name, described);
      else conflicts.push(conflictOf(earlier, described));
    }
  }
  return { models: Array.from(first.values(), ({ model }) => model), conflicts };
}

/** Merges what places describe. A model's own options count before the `shared` ones of all. */
export function mergeSources(places: readonly DescribingPlace[], shared: RawOptions): MergedSources {
  const batching: RawOptions = Object.assign({}, ...places.map((place) => place.batching));
  const { models, conflicts } = mergePlaces(places);
  const withOptions = models.map((model) => {
    const ofDriver = model.driver === "tensorflow" ? batching : {};
    return { ...model, options: { ...ofDriver, ...shared, ...model.options } };
  });
  return { models: withOptions, conflicts, batching };
}

/** The models with the reason why one cannot be served for want of others that its stages name. */
export function refuseByNeeds(models: readonly ModelConfig[]): readonly ModelConfig[] {
  const problems = problemsOfNeeds(models.map(toNeedingModel));
  return models.map((model) => {
    const refusal = problems.get(model.name)?.replace(/\.$/, "");
    return { ...(refusal && { refusal }), ...model };
  });
}

interface Described<Model> {
  readonly title: string;
  readonly model: Model;
}

function conflictOf(earlier: Described<Named>, later: Described<Named>): string {
  return `The model "${later.model.name}" is described by ${placesOf(earlier, later)}; expected each name once.`;
}

/** The places that describe a name twice; of one place, the models: on the command line their files are their names. */
function placesOf(earlier: Described<Named>, later: Described<Named>): string {
  const [one, other] = [earlier, later].map(({ model: { path = "" } }) => path);
  if (earlier.title !== later.title || one === "" || other === "") return `${earlier.title} and by ${later.title}`;
  const advice = later.title === COMMAND_LINE ? " (--model NAME=PATH gives another name)" : "";
  return `${later.title} twice, for ${one} and ${other}${advice}`;
}
