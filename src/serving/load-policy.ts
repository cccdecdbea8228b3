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
  /** Maximum time of a load, in milliseconds; 0 = no limit. */
  readonly timeoutMs: number;
  /** Further attempts after a load has failed. */
  readonly retries: number;
  /** Maximum wait before a further attempt, in milliseconds. */
  readonly retryMs: number;
}
