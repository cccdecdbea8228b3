import type { ServableStatistics } from "./servable-statistics.ts";

/**
 * Total time that successful requests neither waited for a model, nor ran in one, nor for a client to take parts, in
 * milliseconds.
 */
export interface PreparationTimes {
  /** Hooks before the models, image decoding, checks, and the transfer between threads. */
  readonly inputMs: number;
  /** The hooks after the models. */
  readonly outputMs: number;
}

/**
 * Splits the time that requests did not spend in models; the part that cannot be
 * attributed counts as preparation of inputs.
 */
export function preparationTimes({
  requests,
  runs,
  hooks,
}: Pick<ServableStatistics, "requests" | "runs" | "hooks">): PreparationTimes {
  const takenMs = requests.parts?.takenMs ?? 0;
  const restMs = Math.max(0, requests.succeeded.ms - takenMs - runs.queueMs - runs.runMs);
  const after = hooks.filter(({ hook }) => hook === "postprocess");
  const outputMs = Math.min(restMs, 1000 * after.reduce((sum, { times }) => sum + times.sum, 0));
  return { inputMs: restMs - outputMs, outputMs };
}
