import type { InferenceService, ServableState } from "../../serving/inference-service.ts";

/** One line of RepositoryIndex. */
export interface ModelIndex {
  readonly name: string;
  readonly version: string;
  readonly state: "READY" | "UNAVAILABLE" | "LOADING" | "UNLOADING";
  readonly reason: string;
}

/** Every version of every model, loaded or not; with `onlyReady`, those that can answer now. */
export function repositoryIndex(service: InferenceService, onlyReady: boolean): ModelIndex[] {
  return service
    .index({ loadable: true })
    .filter(({ isReady }) => isReady || !onlyReady)
    .map((one) => ({
      name: one.model,
      version: String(one.version),
      state: stateOf(one),
      reason: one.error?.message ?? one.unavailableReason,
    }));
}

/** A failed version is unavailable while it waits for the next attempt. */
function stateOf({ isReady, state, error }: ServableState): ModelIndex["state"] {
  if (isReady) return "READY";
  if (error !== undefined || state === "AVAILABLE" || state === "END") return "UNAVAILABLE";
  return state === "UNLOADING" ? "UNLOADING" : "LOADING";
}
