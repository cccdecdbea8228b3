import { type Goal, meets } from "../benchmark/bench-flags.ts";
import { failureCount, type LevelResult } from "../benchmark/measure/level.ts";
import type { Candidate } from "./candidate.ts";

/** A candidate that was tried. */
export interface Trial {
  readonly candidate: Candidate;
  /** Ascending in concurrency; empty if it cannot be served. */
  readonly levels: readonly LevelResult[];
  /** The reason for which it cannot. */
  readonly problem?: string;
}

/** Latency by which candidates are compared. */
export const DEFAULT_FIGURE = "p99";

/** The level of a trial with the most requests per second, of those that meet the goal; undefined if none does. */
export function bestLevel({ levels }: Trial, goal: Goal | undefined): LevelResult | undefined {
  return levels
    .filter((level) => level.latencyMs !== undefined && failureCount(level) === 0)
    .filter((level) => goal === undefined || meets(level, goal))
    .reduce<LevelResult | undefined>((best, level) => (throughput(level) > throughput(best) ? level : best), undefined);
}

/** Gain from which a candidate counts as better than an earlier one, which is simpler. */
const MIN_GAIN = 1.03;

/**
 * The trial with the most requests per second within the goal; the earlier one of
 * nearly equal ones; undefined if none meets it.
 */
export function bestTrial(trials: readonly Trial[], goal: Goal | undefined): Trial | undefined {
  let best: Trial | undefined;
  for (const trial of trials) {
    const level = bestLevel(trial, goal);
    if (level === undefined) continue;
    if (best === undefined || throughput(level) > MIN_GAIN * throughput(bestLevel(best, goal))) best = trial;
  }
  return best;
}

/** The trial with the lowest latency of all, for a goal that none meets. */
export function nearestTrial(trials: readonly Trial[], { figure }: Goal): Trial | undefined {
  const latency = ({ levels }: Trial) => Math.min(...levels.map((level) => level.latencyMs?.[figure] ?? Infinity));
  return trials
    .filter(({ levels }) => levels.length > 0)
    .reduce<Trial | undefined>(
      (best, trial) => (best === undefined || latency(trial) < latency(best) ? trial : best),
      undefined,
    );
}

function throughput(level: LevelResult | undefined): number {
  return level?.requestsPerSecond ?? 0;
}
