import type { Interval, IntervalKind } from "./interval.ts";

/** Milliseconds of a request's parts, all of a kind together; absent for those that it did not have. */
export type PartTimes = { readonly [Kind in IntervalKind as `${Kind}Ms`]?: number };

/**
 * Adds up the parts of a request by kind, rounded to microseconds. What another model of the server did for it is in
 * the time of `model` alone.
 */
export function partTimes(intervals: readonly Interval[]): PartTimes {
  const sums: Record<string, number> = {};
  for (const { kind, depth, start, end } of intervals) {
    if (depth === 0) sums[`${kind}Ms`] = (sums[`${kind}Ms`] ?? 0) + end - start;
  }
  for (const name in sums) sums[name] = Math.round(sums[name]! * 1000) / 1000;
  return sums;
}
