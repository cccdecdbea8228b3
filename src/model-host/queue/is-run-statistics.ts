import { SECONDS_BOUNDS } from "../../observability/metrics/histogram.ts";
import type { RunStatistics } from "./run-statistics.ts";

/** Checks that a value is a model's statistics; another process may have sent it. */
export function isRunStatistics(value: unknown): value is RunStatistics {
  const { requests, queueMs, runMs, renewals, runs, queueTimes, runTimes } = (value ?? {}) as {
    readonly [Name in keyof RunStatistics]?: unknown;
  };
  const areCounts = Array.isArray(runs) && runs.every((run) => areAmounts(run?.rows, run?.count, run?.ms));
  return (
    areAmounts(requests, queueMs, runMs, renewals) && areCounts && isHistogram(queueTimes) && isHistogram(runTimes)
  );
}

function isHistogram(value: unknown): boolean {
  const { counts, sum } = (value ?? {}) as { readonly counts?: unknown; readonly sum?: unknown };
  return Array.isArray(counts) && counts.length <= SECONDS_BOUNDS.length + 1 && areAmounts(sum, ...counts);
}

function areAmounts(...values: readonly unknown[]): boolean {
  return values.every((value) => Number.isFinite(value) && (value as number) >= 0);
}
