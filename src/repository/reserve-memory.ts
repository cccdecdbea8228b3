import type { ModelFacts } from "../model-host/model-facts.ts";
import type { MemoryShare, ModelMemory } from "../serving/model-memory.ts";
import { type Copies, memoryOf, type SizedStage } from "./estimate-memory.ts";

/** A pipeline that is about to be loaded. */
interface ReserveOptions {
  /** Its name in messages. */
  readonly what: string;
  readonly copies: Copies;
  readonly memory: ModelMemory;
  /** Ends the wait. */
  readonly signal: AbortSignal | undefined;
}

/** Memory that is reserved for a pipeline. */
interface Reserved extends Pick<MemoryShare, "release"> {
  /** To be called with the models once they are loaded; resolves with their memory and their threads'. */
  loaded(models: readonly ModelFacts[]): Promise<number>;
}

/** Waits until there is room for a pipeline; throws where there never will be. */
export async function reserveMemory(
  stages: readonly SizedStage[],
  { what, copies, memory, signal }: ReserveOptions,
): Promise<Reserved> {
  const sizes = stages.map(({ fileBytes }) => fileBytes);
  const share = await memory.reserve({ what, bytes: memoryOf(stages, sizes, copies), signal });
  return {
    release: share.release,
    loaded: async (models) => {
      const measured = stages.map(({ number }, index) => models[number - 1]?.memoryBytes ?? sizes[index] ?? 0);
      // The memory of other processes is not part of this process's.
      const isEstimate = models.every(({ memoryBytes }) => memoryBytes === undefined);
      const runtimes = models.map(({ driver }) => driver);
      return share.loaded(memoryOf(stages, measured, copies), isEstimate ? runtimes : undefined);
    },
  };
}
