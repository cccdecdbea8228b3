import { type CancelSignal, CancelSource } from "../async/cancel-source.ts";
import type { Timeline } from "../observability/timeline.ts";

/** The client of requests whose priority counts among those of all clients. */
export const BEFORE_OTHERS = -1;

/** Limits of one request as plain data, the same in every thread that works on it. */
export interface PlainLimits {
  /** Time at which the client stops waiting, in milliseconds since the epoch. */
  readonly deadline?: number | undefined;
  /** 1 = highest; 0 (default) = none, after all others of the same client. */
  readonly priority?: number | undefined;
  /**
   * Number of the client, whose requests take turns with those of others; 0 (default) = the first one. {@link
   * BEFORE_OTHERS} = the request's priority counts before all clients' turns.
   */
  readonly client?: number | undefined;
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
  const { signal, deadline, priority, client, queueTimeoutMs, depth, warmUp, timeline } = limits;
  return { signal, deadline, priority, client, queueTimeoutMs, depth, warmUp, timeline };
}

/**
 * The limits for another thread; undefined if there are none, since plain data costs as much as the rest of a small
 * record.
 */
export function toPlainLimits(limits: PlainLimits): PlainLimits | undefined {
  const { deadline, priority = 0, client = 0, queueTimeoutMs = 0, depth = 0, warmUp } = limits;
  if (client === 0 && hasClientAlone(limits)) return undefined;
  return { deadline, priority, client, queueTimeoutMs, depth, warmUp };
}

/** True if there is no limit, but perhaps a client's number. */
export function hasClientAlone({ deadline, priority, queueTimeoutMs, depth, warmUp }: PlainLimits): boolean {
  return deadline === undefined && !priority && !queueTimeoutMs && !depth && warmUp === undefined;
}

/** Checks that each limit from another thread is a finite number or absent. */
export function arePlainLimits(value: { readonly [Key in keyof PlainLimits]?: unknown }): boolean {
  const { deadline, priority, client, queueTimeoutMs, depth, warmUp } = value;
  const limits = [deadline, priority, client, queueTimeoutMs, depth, warmUp];
  return limits.every((limit) => limit === undefined || Number.isFinite(limit));
}

/** The longest possible timer, in milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** The signal and deadline of a request. */
type TimeLimit = Pick<CallLimits, "signal" | "deadline">;

/** A limit with a timer, if any, which {@link LimitedTime.clear} stops. */
interface LimitedTime extends TimeLimit {
  clear(): void;
}

/** The same limit, but at most `timeoutMs` from now; 0 = unchanged. The signal's reason is then a `TimeoutError`. */
export function limitTime(limit: TimeLimit, timeoutMs: number): LimitedTime {
  const until = Date.now() + timeoutMs;
  const isEarlier = (limit.deadline ?? Number.POSITIVE_INFINITY) <= until;
  if (timeoutMs === 0 || isEarlier) return { signal: limit.signal, deadline: limit.deadline, clear: nothing };
  const source = new CancelSource();
  const passOn = () => source.abort(limit.signal.reason);
  if (limit.signal.aborted) passOn();
  limit.signal.addEventListener("abort", passOn, { once: true });
  const expire = () => source.abort(deadlinePassed());
  const timer = setTimeout(expire, timeoutMs);
  const clear = () => {
    clearTimeout(timer);
    limit.signal.removeEventListener("abort", passOn);
  };
  return { signal: source, deadline: until, clear };
}

/** The reason for aborting a request whose deadline has passed. */
export function deadlinePassed(): DOMException {
  return new DOMException("The request's deadline passed.", "TimeoutError");
}

function nothing(): void {}
