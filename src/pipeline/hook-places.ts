import { answersInParts } from "../hooks/generator-hooks.ts";
import type { HookSet } from "../hooks/hook-set.ts";
import type { ModelFacts } from "../models/model-facts.ts";
import { cutText } from "../platform/text/cut-text.ts";

/** A hook by its name and the number of its stage, from 1: `preprocess 1`, `postprocess 2`; `process` has no stage. */
export const HOOK_PLACE = /^(?:process|(?:pre|post)process \d{1,4})$/;

/** Facts about the hooks of a pipeline, known before any model is loaded: plain data that crosses threads. */
export interface HookFacts {
  /** Names of the functions that get bytes and give bytes; absent = there are none. */
  readonly entries?: readonly string[];
  /** The hooks that requests go through, as {@link HOOK_PLACE} has them. */
  readonly hookPlaces: readonly string[];
  /** Their description of the pipeline; absent = they have none. */
  readonly description?: string;
  /** True if they answer in parts; absent = they answer once. */
  readonly decoupled?: boolean;
}

/** Collects the facts about hooks. */
export function hookFacts(hooks: HookSet): HookFacts {
  const { entries, description } = hooks;
  return {
    hookPlaces: placesOf(hooks),
    ...(entries && { entries: [...entries.keys()] }),
    ...(description !== undefined && { description: cutText(description) }),
    ...(answersInParts(hooks) && { decoupled: true }),
  };
}

/** The facts about hooks of which another server has told the functions alone. */
export function functionFacts(entries: readonly string[]): HookFacts {
  return { entries, hookPlaces: [] };
}

/**
 * Checks if a pipeline answers in parts: since its hooks do, or one of its models, which a `process` may call as it
 * likes.
 */
export function isDecoupled(hooks: HookFacts | undefined, models: readonly Pick<ModelFacts, "decoupled">[]): boolean {
  if (hooks?.decoupled === true) return true;
  return hooks?.hookPlaces.includes("process") !== true && models.some(({ decoupled }) => decoupled === true);
}

function placesOf({ process, preprocess, postprocess }: HookSet): readonly string[] {
  if (process !== undefined) return ["process"];
  const stages = Array.from({ length: Math.max(preprocess.length, postprocess.length) }, (_, index) => index);
  return stages.flatMap((stage) => [
    ...(preprocess[stage] ? [`preprocess ${stage + 1}`] : []),
    ...(postprocess[stage] ? [`postprocess ${stage + 1}`] : []),
  ]);
}
