import { failureCount, type Latencies, type LevelResult } from "../benchmark/measure/level.ts";
import type { Candidate } from "./candidate.ts";
import type { Trial } from "./trial.ts";

/** A candidate under one load. */
export interface Point {
  readonly candidate: Candidate;
  readonly level: LevelResult;
}

/** The points without failures that no other exceeds in throughput at no higher latency, from the lowest latency up. */
export function paretoPoints(trials: readonly Trial[], figure: keyof Latencies): readonly Point[] {
  const points = trials.flatMap(({ candidate, levels }) => levels.map((level) => ({ candidate, level })));
  const latency = ({ level }: Point) => level.latencyMs?.[figure] ?? Number.POSITIVE_INFINITY;
  const sorted = points
    .filter((point) => Number.isFinite(latency(point)) && failureCount(point.level) === 0)
    .sort((a, b) => latency(a) - latency(b) || b.level.requestsPerSecond - a.level.requestsPerSecond);
  let most = 0;
  return sorted.filter(({ level }) => {
    const isMore = level.requestsPerSecond > most;
    most = Math.max(most, level.requestsPerSecond);
    return isMore;
  });
}
