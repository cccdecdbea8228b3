import type { Servable } from "./servable.ts";

/** Facts about a servable that are known while it is not loaded. */
export type KnownFacts = Pick<
  Servable,
  | "drivers"
  | "models"
  | "needed"
  | "signatures"
  | "maxBatchSize"
  | "maxRequestRows"
  | "parameters"
  | "hooksShareTensors"
  | "graphRefusal"
  | "entries"
  | "hookPlaces"
> & {
  readonly sources: readonly string[];
};

/** Collects the facts of a servable while it is loaded. */
export function toKnownFacts(loaded: Servable): KnownFacts {
  const { drivers, models, needed, signatures, maxBatchSize, maxRequestRows, parameters } = loaded;
  const { hooksShareTensors, graphRefusal, entries, hookPlaces } = loaded;
  const sources = loaded.sources();
  return {
    drivers,
    models,
    needed,
    signatures,
    maxBatchSize,
    maxRequestRows,
    parameters,
    hooksShareTensors,
    graphRefusal,
    entries,
    hookPlaces,
    sources,
  };
}
