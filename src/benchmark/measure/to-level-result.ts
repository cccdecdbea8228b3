import { percentile } from "../../observability/percentile.ts";
import { isStable, STABLE_WINDOWS } from "./is-stable.ts";
import type { Latencies, Level, LevelResult, WindowFigures } from "./level.ts";
import { Window } from "./window.ts";

/** Shares of the distribution. */
const SHARES = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995, 0.9999];

/** The result of a level's windows. */
export function toLevelResult(level: Level, windows: readonly Window[], threads: number): LevelResult {
  const last = new Window(threads);
  for (const window of windows.slice(-STABLE_WINDOWS)) last.include(window);
  const sorted = last.sorted();
  return {
    ...level,
    requests: last.requests,
    seconds: last.seconds,
    requestsPerSecond: last.requestsPerSecond,
    ...(sorted.length > 0 && { latencyMs: latenciesOf(sorted, last.meanMs) }),
    distribution: SHARES.filter((share) => sorted.length * (1 - share) >= 1).map((share) => [share, at(sorted, share)]),
    failures: failuresOf(windows),
    windows: windows.map(toFigures),
    isStable: isStable(windows),
    clientShare: last.busyShare,
    backlog: last.backlog,
  };
}

function latenciesOf(sorted: Float64Array, mean: number): Latencies {
  const [p50, p90, p95, p99, max] = [0.5, 0.9, 0.95, 0.99, 1].map((share) => at(sorted, share));
  return { mean, p50, p90, p95, p99, max } as Latencies;
}

function toFigures(window: Window): WindowFigures {
  const sorted = window.sorted();
  return { requestsPerSecond: window.requestsPerSecond, p50Ms: at(sorted, 0.5), p99Ms: at(sorted, 0.99) };
}

function failuresOf(windows: readonly Window[]): Record<string, number> {
  const all = new Map<string, number>();
  for (const { failures } of windows)
    for (const [problem, count] of failures) all.set(problem, (all.get(problem) ?? 0) + count);
  return Object.fromEntries(all);
}

function at(sorted: Float64Array, share: number): number {
  return percentile(sorted, share) ?? Number.NaN;
}
