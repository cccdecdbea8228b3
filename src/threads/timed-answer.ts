import type { Interval } from "../observability/interval.ts";
import type { Timeline } from "../observability/timeline.ts";
import { fromWireError, parseWireError, toWireError, type WireError } from "./wire-error.ts";

/** Meta of an answer to a request whose parts somebody wants to know: an error is told in it, too, so that they are not lost. */
export interface TimedAnswer {
  /** Start of the work, on the clock of steadyMs. */
  readonly began: number;
  readonly intervals: readonly Interval[];
  readonly failed?: WireError;
}

/** Adds what an answer tells of a request's parts to those that are known; throws the error that it tells. */
export function openTimedAnswer(meta: unknown, timeline: Timeline): void {
  const { began, intervals, failed } = (meta ?? {}) as { readonly [Key in keyof TimedAnswer]?: unknown };
  if (typeof began === "number") timeline.endWait(began);
  timeline.merge(intervals);
  if (failed !== undefined) throw fromWireError(parseWireError(failed));
}

/** The answer for work that failed. */
export function failedAnswer(reason: unknown, began: number, { intervals }: Timeline): TimedAnswer {
  return { began, intervals, failed: toWireError(reason) };
}
