import type { LoadGate } from "./load-gate.ts";
import type { ModelMemory } from "./model-memory.ts";
import type { NeededModels } from "./needed-models.ts";

/** Limits of the loads of all versions. */
export interface LoadPolicy {
  readonly gate: LoadGate;
  /** The models that stages name. */
  readonly needed: NeededModels;
  /** Unloads idle versions for others. */
  readonly memory: ModelMemory;
  /** Milliseconds that a load may take; 0 = no limit. */
  readonly timeoutMs: number;
  /** Further tries where a load fails. */
  readonly retries: number;
  /** The longest wait before a further try, in milliseconds. */
  readonly retryMs: number;
}
