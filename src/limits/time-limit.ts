import { CancelSource } from "../async/cancel-source.ts";
import type { CallLimits } from "./call-limits.ts";

/** The longest possible timer, in milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** The signal and deadline of a request. */
type TimeLimit = Pick<CallLimits, "signal" | "deadline">;

/** A limit with a timer, if any, which {@link LimitedTime.clear} stops. */
export interface LimitedTime extends TimeLimit {
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
