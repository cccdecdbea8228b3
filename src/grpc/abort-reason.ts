import { deadlinePassed } from "../limits/call-limits.ts";

/**
 * Maximum time by which a cancellation may arrive before its call's deadline, in milliseconds: the call took longer to
 * arrive, or a timer fired early.
 */
const SLACK_MS = 20;
/** One for all calls: a stack trace, which says nothing here, took a seventh of the time of each call that is reset. */
const CANCELLED = new DOMException("The client cancelled the request.", "AbortError");

/** The reason for ending a call whose client left: a client may also cancel because the deadline passed. */
export function abortReason(deadline: number | undefined): DOMException {
  const isLate = deadline !== undefined && Date.now() >= deadline - SLACK_MS;
  return isLate ? deadlinePassed() : CANCELLED;
}
