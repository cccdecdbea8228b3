/** What ends a request before it is answered. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly deadline?: number;
}

/** A limit that may have a timer, which {@link LimitedTime.clear} stops. */
export interface LimitedTime extends TimeLimit {
  clear(): void;
}

/** The same limit, but no later than `timeoutMs` from now; 0 = unchanged. The signal's reason then is a `TimeoutError`. */
export function limitTime(limit: TimeLimit, timeoutMs: number): LimitedTime {
  const until = Date.now() + timeoutMs;
  if (timeoutMs === 0 || (limit.deadline ?? Number.POSITIVE_INFINITY) <= until) return { ...limit, clear: () => {} };
  const controller = new AbortController();
  const passOn = () => controller.abort(limit.signal.reason);
  if (limit.signal.aborted) passOn();
  limit.signal.addEventListener("abort", passOn, { once: true });
  const expire = () => controller.abort(new DOMException("The request's deadline passed.", "TimeoutError"));
  const timer = setTimeout(expire, timeoutMs);
  const clear = () => {
    clearTimeout(timer);
    limit.signal.removeEventListener("abort", passOn);
  };
  return { signal: controller.signal, deadline: until, clear };
}
