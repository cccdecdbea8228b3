import type { ServableStatistics } from "./servable.ts";

/** Milliseconds that all successful requests together neither waited for a model nor ran in one. */
export interface PreparationTimes {
  /** Hooks before the models, the decoding of images, checks, and the way between threads. */
  readonly inputMs: number;
  /** The hooks after the models. */
  readonly outputMs: number;
}

/** Splits the time that requests did not spend in models; what cannot be told apart counts as the preparation of inputs. */
export function preparationTimes({
  requests,
  runs,
  hooks,
}: Pick<ServableStatistics, "requests" | "runs" | "hooks">): PreparationTimes {
  const restMs = Math.max(0, requests.succeeded.ms - runs.queueMs - runs.runMs);
  const after = hooks.filter(({ hook }) => hook === "postprocess");
  const outputMs = Math.min(restMs, 1000 * after.reduce((sum, { times }) => sum + times.sum, 0));
  return { inputMs: restMs - outputMs, outputMs };
}
