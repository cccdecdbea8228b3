import { type CancelSignal, followSignal } from "../async/cancel-source.ts";

/** The client of requests whose priority counts among those of all clients. */
export const BEFORE_OTHERS = -1;

/**
 * Limits and marks of one request: plain data, handed on by reference from the transport to the models, and sent to
 * other threads as it is.
 */
export interface CallLimits {
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
  /**
   * True for inputs from a hook, which may hold an image's pixels or a single encoded image for an input of numbers.
   */
  readonly fromHook?: boolean | undefined;
}

/** The limits of a request without any. */
export const NO_LIMITS: CallLimits = Object.freeze({});

/** The limits of a client's request as it arrives; undefined for one without any, which is cheaper to send. */
export function arrivalLimits(deadline: number | undefined, client: number): CallLimits | undefined {
  return deadline === undefined && client === 0 ? undefined : { deadline, client };
}

/** True for what a client sent, as it is: it is for no warm-up, and its inputs hold no images of hooks. */
export function isUnmarked({ warmUp, fromHook }: CallLimits): boolean {
  return warmUp === undefined && fromHook === undefined;
}

/** True if there is no limit, but perhaps a client's number. */
export function hasClientAlone(limits: CallLimits): boolean {
  const { deadline, priority, queueTimeoutMs, depth } = limits;
  return deadline === undefined && !priority && !queueTimeoutMs && !depth && isUnmarked(limits);
}

/** The limits of a copy of a request, for which no client waits: it has no place among those of clients. */
export function limitsOfCopy(limits: CallLimits = NO_LIMITS, deadline: number | undefined): CallLimits {
  const { depth = 0 } = limits;
  const standing = { client: undefined, priority: undefined, queueTimeoutMs: undefined };
  return { ...limits, ...standing, deadline, depth: depth + 1 };
}

/** Checks limits from another thread: finite numbers, and a boolean. */
export function areCallLimits(value: unknown): boolean {
  if (value === undefined) return true;
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).every(([name, limit]) => {
    if (limit === undefined) return true;
    return name === "fromHook" ? typeof limit === "boolean" : Number.isFinite(limit);
  });
}

/** The longest possible timer, in milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** The signal and deadline of a request. */
interface TimeLimit {
  readonly limits?: CallLimits | undefined;
  readonly signal: CancelSignal;
}

/** A limit with a timer, if any, which {@link LimitedTime.clear} stops. */
interface LimitedTime extends TimeLimit {
  clear(): void;
}

/** The same limit, but at most `timeoutMs` from now; 0 = unchanged. The signal's reason is then a `TimeoutError`. */
export function limitTime(limit: TimeLimit, timeoutMs: number): LimitedTime {
  const until = Date.now() + timeoutMs;
  const { limits, signal } = limit;
  const isEarlier = (limits?.deadline ?? Number.POSITIVE_INFINITY) <= until;
  if (timeoutMs === 0 || isEarlier) return { limits, signal, clear: nothing };
  const { source, leave } = followSignal(signal);
  const expire = () => source.abort(deadlinePassed());
  const timer = setTimeout(expire, timeoutMs);
  const clear = () => {
    clearTimeout(timer);
    leave();
  };
  return { limits: { ...limits, deadline: until }, signal: source, clear };
}

/** The reason for aborting a request whose deadline has passed. */
export function deadlinePassed(): DOMException {
  return new DOMException("The request's deadline passed.", "TimeoutError");
}

function nothing(): void {}
