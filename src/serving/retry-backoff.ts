import { Backoff } from "../platform/async/backoff.ts";

/** The shortest wait before a further attempt, in milliseconds. */
const FIRST_RETRY_MS = 1000;

/** The waits between attempts to load, up to the longest in milliseconds. */
export function retryBackoff(maxMs: number): Backoff {
  return new Backoff({ firstMs: Math.min(FIRST_RETRY_MS, maxMs), maxMs });
}
