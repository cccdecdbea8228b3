import type { InferenceService } from "../../serving/inference-service.ts";

/** One line of RepositoryIndex. */
export interface ModelIndex {
  readonly name: string;
  readonly version: string;
  readonly state: "READY" | "UNAVAILABLE";
  readonly reason: string;
}

/** Every version of every model; with `onlyReady` those that can answer now. */
export function repositoryIndex(service: InferenceService, onlyReady: boolean): ModelIndex[] {
  return service
    .index()
    .filter(({ isReady }) => isReady || !onlyReady)
    .map(({ model, version, isReady, unavailableReason }) => ({
      name: model,
      version: String(version),
      state: isReady ? "READY" : "UNAVAILABLE",
      reason: unavailableReason,
    }));
}
