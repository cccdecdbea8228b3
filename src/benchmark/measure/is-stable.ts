import type { Window } from "./window.ts";

/** Windows that have to agree. */
export const STABLE_WINDOWS = 3;
/** By how much each may differ from their mean, as a share of it. */
const TOLERANCE = 0.1;

/**
 * Checks if the requests per second and the mean latency of the last three windows are within 10 % of their means, as
 * Triton's perf_analyzer does.
 */
export function isStable(windows: readonly Window[]): boolean {
  const last = windows.slice(-STABLE_WINDOWS);
  if (last.length < STABLE_WINDOWS) return false;
  return agree(last.map(({ requestsPerSecond }) => requestsPerSecond)) && agree(last.map(({ meanMs }) => meanMs));
}

function agree(values: readonly number[]): boolean {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.every((value) => Math.abs(value - mean) <= TOLERANCE * mean);
}
