import { failureCount } from "../benchmark/measure/level.ts";
import type { Candidate } from "./candidate.ts";
import { bestLevel, type Trial } from "./trial.ts";
import { measureCandidate, type TrialContext } from "./try-candidate.ts";

/** Two candidates that were measured again, in turn, so that neither had the better minute of the machine. */
export interface Confirmation {
  /** The one that had been best. */
  readonly candidate: Candidate;
  /** Requests per second of the defaults, and of that one. */
  readonly before: number;
  readonly after: number;
  /** The reason for which it is not best after all. */
  readonly problem?: string;
  /** True where it has missed the goal this time, which is close then. */
  readonly hasMissed: boolean;
}

const ROUNDS = 2;
/** Gain below which the defaults are as good: single measurements differ by as much. */
const MIN_GAIN = 1.05;

/** Checks if a gain is large enough to be one, and without a problem. */
export function isGain({ before, after, problem }: Pick<Confirmation, "before" | "after" | "problem">): boolean {
  return problem === undefined && after >= MIN_GAIN * before;
}

/**
 * Measures both at their best loads again; undefined where the defaults have none within the goal or fail this time, or
 * it was cut short.
 */
export async function confirmGain(
  defaults: Trial,
  best: Trial,
  context: TrialContext,
): Promise<Confirmation | undefined> {
  const sides = [defaults, best].map((trial) => ({ trial, level: bestLevel(trial, context.goal), sum: 0 }));
  let hasMissed = false;
  for (let round = 0; round < ROUNDS; round++)
    for (const side of sides) {
      if (side.level === undefined) return undefined;
      const { candidate } = side.trial;
      const again = await measureCandidate(candidate, side.level.concurrency, context);
      if (context.signal.aborted) return undefined;
      const [level] = again.levels;
      const problem = problemOf(again);
      if (problem !== undefined)
        return side.trial === best ? { candidate, ...sumsOf(sides), problem, hasMissed } : undefined;
      if (level === undefined) return undefined;
      hasMissed ||= side.trial === best && bestLevel(again, context.goal) === undefined;
      side.sum += level.requestsPerSecond / ROUNDS;
    }
  return { candidate: best.candidate, ...sumsOf(sides), hasMissed };
}

function sumsOf([defaults, best]: readonly { readonly sum: number }[]): { before: number; after: number } {
  return { before: defaults?.sum ?? 0, after: best?.sum ?? 0 };
}

function problemOf({ levels: [level], problem }: Trial): string | undefined {
  if (level === undefined) return `could not be served again: ${problem ?? "nothing was measured"}`;
  return failureCount(level) > 0 ? "had requests that failed when measured again" : undefined;
}
