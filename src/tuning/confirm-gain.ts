import { bestLevel, type Trial } from "./trial.ts";
import { measureCandidate, type TrialContext } from "./try-candidate.ts";

/** Two candidates that were measured again, in turn, so that neither had the better minute of the machine. */
export interface Confirmation {
  /** Requests per second of the defaults, and of the best. */
  readonly before: number;
  readonly after: number;
}

const ROUNDS = 2;
/** Gain below which the defaults are as good: single measurements differ by as much. */
const MIN_GAIN = 1.05;

/** Checks if a gain is large enough to be one. */
export function isGain({ before, after }: Confirmation): boolean {
  return after >= MIN_GAIN * before;
}

/**
 * Measures both at their best loads again; undefined where the defaults have none within the goal, or it was cut short.
 */
export async function confirmGain(
  defaults: Trial,
  best: Trial,
  context: TrialContext,
): Promise<Confirmation | undefined> {
  const sides = [defaults, best].map((trial) => ({ trial, level: bestLevel(trial, context.goal), sum: 0 }));
  for (let round = 0; round < ROUNDS; round++)
    for (const side of sides) {
      if (side.level === undefined) return undefined;
      const { levels } = await measureCandidate(side.trial.candidate, side.level.concurrency, context);
      if (context.signal.aborted) return undefined;
      side.sum += levels[0]?.requestsPerSecond ?? 0;
    }
  const [before = 0, after = 0] = sides.map(({ sum }) => sum / ROUNDS);
  return { before, after };
}
