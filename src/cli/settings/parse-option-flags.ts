import type { RawOptions } from "../../drivers/option-table.ts";
import { invalidArgument } from "../../errors.ts";

/** `-o` options, sorted by whom they are for. */
export interface OptionFlags {
  /** For all drivers and the hooks. */
  readonly shared: RawOptions;
  /** One record per stage, for its driver alone. */
  readonly stages: readonly RawOptions[];
}

/**
 * Sorts `[STAGE:]KEY=VALUE` texts; the last of equal keys is used. Servers of several models have no stages. Throws
 * `invalid_argument` for a text without key or value, or an unknown stage.
 */
export function parseOptionFlags(texts: readonly string[], stageCount: number | "several"): OptionFlags {
  const shared = newRecord();
  const stages = Array.from({ length: stageCount === "several" ? 0 : stageCount }, newRecord);
  for (const text of texts) {
    const { stage, key, value } = parseOptionFlag(text);
    const target = stage === undefined ? shared : stages[stage - 1];
    if (target === undefined) throw invalidArgument(noSuchStage(text, stageCount));
    target[key] = value;
  }
  return { shared, stages };
}

/** Without a prototype: `__proto__` is a key like any other. */
function newRecord(): Record<string, string> {
  return Object.create(null);
}

function parseOptionFlag(text: string) {
  const [, stage, key, value] = /^(?:(\d+):)?([^=]+)=(.*)$/s.exec(text) ?? [];
  if (key !== undefined && value !== undefined) {
    return { stage: stage === undefined ? undefined : Number(stage), key, value };
  }
  throw invalidArgument(
    `-o is "${text}"; expected [STAGE:]KEY=VALUE, for example device=CPU, or 2:device=CPU for the second stage alone.`,
  );
}

function noSuchStage(text: string, stageCount: number | "several"): string {
  if (stageCount === "several")
    return `-o is "${text}", but there are several models; expected KEY=VALUE for all of them. A file for --config has options for each.`;
  const stages = stageCount === 1 ? "there is 1 stage" : `there are ${stageCount} stages`;
  return `-o is "${text}", but ${stages}; expected ${stageCount === 1 ? "stage 1" : `a stage from 1 to ${stageCount}`}.`;
}
