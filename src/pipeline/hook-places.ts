import type { HookSet } from "../hooks/hook-set.ts";

/** A hook by its name and the number of its stage, from 1: `preprocess 1`, `postprocess 2`; `process` has no stage. */
export const HOOK_PLACE = /^(?:process|(?:pre|post)process \d{1,4})$/;

/** The hooks that the requests of a pipeline go through, as {@link HOOK_PLACE} has them. */
export function hookPlaces({ process, preprocess, postprocess }: HookSet): readonly string[] {
  if (process !== undefined) return ["process"];
  const stages = Array.from({ length: Math.max(preprocess.length, postprocess.length) }, (_, index) => index);
  return stages.flatMap((stage) => [
    ...(preprocess[stage] ? [`preprocess ${stage + 1}`] : []),
    ...(postprocess[stage] ? [`postprocess ${stage + 1}`] : []),
  ]);
}
