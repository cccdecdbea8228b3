import type { LoadingSettings } from "../platform/limits/settings/server-settings.ts";
import type { LoadGate } from "./load-gate.ts";
import type { ModelMemory } from "./model-memory.ts";
import type { NeededModels } from "./needed-models.ts";

/** Limits of the loads of all versions. */
export interface LoadPolicy {
  readonly gate: LoadGate;
  /** The models that stages name. */
  readonly needed: NeededModels;
  /** Unloads idle versions to make room for others. */
  readonly memory: ModelMemory;
  readonly loading: LoadingSettings;
}
