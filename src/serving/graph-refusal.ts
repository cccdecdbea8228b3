import type { ModelFacts } from "../model-host/model-facts.ts";

/** Facts about a pipeline. */
interface PipelineFacts {
  readonly hasHooks: boolean;
  /** True where a stage is another model of this server. */
  readonly isOther: boolean;
}

/** The reason why parts of a pipeline's graph cannot be run by tensor names; empty where they can. */
export function graphRefusal(models: readonly ModelFacts[], { hasHooks, isOther }: PipelineFacts): string {
  const [only, second] = models;
  if (only === undefined || second !== undefined) return `it is a chain of ${models.length} models`;
  if (isOther) return "its stage is another model of this server; ask for that one";
  if (hasHooks) return "it has hooks, which such a run would leave out";
  if (only.runsGraph === true) return "";
  const runtime = only.runtime === undefined ? "" : ` (${only.runtime})`;
  return `the ${only.driver} driver${runtime} runs it; expected a SavedModel or a frozen graph in libtensorflow`;
}
