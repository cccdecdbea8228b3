import type { Interval } from "../../observability/interval.ts";
import type { Timeline } from "../../observability/timeline.ts";
import { fromWireError, parseWireError, toWireError, type WireError } from "./wire-error.ts";

/** Meta of the answer to a timed request; it holds an error too, so that the times until then are not lost. */
export interface TimedAnswer {
  /** Start of the work, on the clock of steadyMs. */
  readonly began: number;
  readonly intervals: readonly Interval[];
  readonly failed?: WireError;
}

/** Adds the times in an answer to those of the request; throws the error in it. */
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
