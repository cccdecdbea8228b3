import type { CancelSignal } from "../async/cancel-source.ts";
import type { Timeline } from "../observability/timeline.ts";

/** Limits of one request as plain data, the same in every thread that works on it. */
export interface PlainLimits {
  /** Time at which the client stops waiting, in milliseconds since the epoch. */
  readonly deadline?: number | undefined;
  /** 1 = highest; 0 (default) = none, after all others. */
  readonly priority?: number | undefined;
  /** Maximum time that the request waits at each model, in milliseconds; 0 (default) = unlimited. */
  readonly queueTimeoutMs?: number | undefined;
  /** Number of models whose hooks called one another up to this call; 0 (default) = a client's call. */
  readonly depth?: number | undefined;
  /**
   * Number of the hook thread or model copy that a warm-up request is for; warm-up requests are not counted. Absent = a
   * client's request.
   */
  readonly warmUp?: number | undefined;
}

/** Limits of one request in this thread. */
export interface CallLimits extends PlainLimits {
  /** Aborts when the client leaves or its deadline passes. */
  readonly signal: CancelSignal;
  /** Records the times of the request's parts; absent = they are not wanted. */
  readonly timeline?: Timeline | undefined;
}

/** The limits among an object's other members. */
export function limitsOf(limits: CallLimits): CallLimits {
  const { signal, deadline, priority, queueTimeoutMs, depth, warmUp, timeline } = limits;
  return { signal, deadline, priority, queueTimeoutMs, depth, warmUp, timeline };
}

/**
 * The limits for another thread; undefined where there are none, since plain data costs as much as the rest of a small
 * record.
 */
export function toPlainLimits(limits: PlainLimits): PlainLimits | undefined {
  const { deadline, priority = 0, queueTimeoutMs = 0, depth = 0, warmUp } = limits;
  const isTimed = deadline !== undefined || queueTimeoutMs !== 0;
  if (!isTimed && priority === 0 && depth === 0 && warmUp === undefined) return undefined;
  return { deadline, priority, queueTimeoutMs, depth, warmUp };
}

/** Checks that each limit from another thread is a finite number or absent. */
export function arePlainLimits(value: { readonly [Key in keyof PlainLimits]?: unknown }): boolean {
  const { deadline, priority, queueTimeoutMs, depth, warmUp } = value;
  const limits = [deadline, priority, queueTimeoutMs, depth, warmUp];
  return limits.every((limit) => limit === undefined || Number.isFinite(limit));
}
