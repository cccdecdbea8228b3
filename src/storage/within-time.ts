import { ServingError } from "../errors.ts";

/** Time that a list, or a description of models, may take as a whole, in milliseconds. */
const MAX_MS = 60_000;

/**
 * Runs a step whose signal aborts with the given one, and when its time is over: `unavailable`. A server that sends a
 * byte now and then never counts as one that stalls.
 */
export async function withinTime<Result>(
  what: string,
  signal: AbortSignal,
  step: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const limit = new AbortController();
  const late = new ServingError("unavailable", `${what} did not come within ${MAX_MS / 1000} s. Check the network`);
  const timer = setTimeout(() => limit.abort(late), MAX_MS);
  const stop = () => limit.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await step(limit.signal);
  } catch (reason) {
    throw limit.signal.reason === late ? late : reason;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}
