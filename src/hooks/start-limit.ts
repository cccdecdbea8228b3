import { failedPrecondition, type ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";

/** Factor of the time limit for a start relative to a request's hook: a start may download and load models. */
const START_FACTOR = 10;
/** Time after which the log reports the wait, in milliseconds. */
const NOTICE_MS = 5000;

/** {@link StartLimit.doubt} of a file that is being loaded. */
export const LOAD_DOUBT = "does it wait at its top level, outside all functions, for what never comes?";

/** Time limit on the start of hooks. */
export interface StartLimit {
  /** `--hook-timeout`; 0 = no limit. */
  readonly hookTimeoutMs: number;
  readonly log: Logger;
  /** Default 5 s. */
  readonly noticeMs?: number;
  /** A question about the likely fault. Default: about a promise. */
  readonly doubt?: string;
}

/**
 * Waits for one step of the hooks' start for ten times `--hook-timeout`, then throws `failed_precondition`; before
 * that, the log reports the wait.
 * `step` is the beginning of both messages: `init_hook of hooks.ts has not returned`.
 */
export async function withinStartLimit<T>(pending: T | Promise<T>, step: string, limit: StartLimit): Promise<T> {
  const { hookTimeoutMs, log, noticeMs = NOTICE_MS, doubt = "does its promise ever settle?" } = limit;
  const limitMs = START_FACTOR * hookTimeoutMs;
  const until =
    limitMs === 0
      ? "there is no limit: --hook-timeout 0"
      : `the limit is ${inSeconds(limitMs)}, ${START_FACTOR} times --hook-timeout`;
  const notice = setTimeout(() => log.warn(`${step} yet, after ${inSeconds(noticeMs)}: ${doubt} (${until})`), noticeMs);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    if (limitMs > 0) timer = setTimeout(() => reject(tooLate(step, limitMs, doubt)), limitMs);
  });
  try {
    return await Promise.race([pending, late]);
  } finally {
    clearTimeout(notice);
    clearTimeout(timer);
  }
}

function inSeconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`;
}

function tooLate(step: string, limitMs: number, doubt: string): ServingError {
  return failedPrecondition(
    `${step} within ${inSeconds(limitMs)} (${START_FACTOR} times --hook-timeout); ${doubt} If it needs longer, raise --hook-timeout.`,
  );
}
