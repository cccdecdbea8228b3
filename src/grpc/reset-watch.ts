import type { Http2Session, ServerHttp2Stream } from "node:http2";
import { endFlood } from "./end-flood.ts";

/**
 * Calls that a client may begin and reset in one turn of the event loop, besides resetting all concurrent calls that it
 * may have.
 */
const SPARE_RESETS = 16;

/**
 * Resets that a connection may have at first, and those that it regains per second. A little below the limits of
 * nghttp2 (1000 and 33), which then only says GOAWAY with an internal error and leaves the connection open.
 */
const STORE = { most: 900, perSecond: 33 };

/** Limits of one connection. */
interface ResetLimits {
  /** Number of resets in one turn after which it is ended. */
  readonly perTurn: number;
  /** Resets that it has left, and when they were counted. */
  left: number;
  countedAt: number;
}

const limits = new WeakMap<Http2Session, ResetLimits>();
/** Resets of this turn. */
let resets = new WeakMap<Http2Session, number>();
let isCounting = false;

/**
 * Ends a connection whose client resets more calls in a turn than it may have at once,
 * plus some new ones, or too many in the long run.
 */
export function limitResets(session: Http2Session, maxCalls: number): void {
  limits.set(session, { perTurn: maxCalls + SPARE_RESETS, left: STORE.most, countedAt: performance.now() });
  // Data that was read before the session existed, such as the first bytes on a shared port, contains calls together
  // with their resets.
  session.on("stream", (stream: ServerHttp2Stream) => {
    if (stream.aborted) countReset(session);
  });
}

/**
 * Counts resets of a new call when they are read, which may be long before its stream closes, after the rest of the
 * same bytes.
 */
export function watchResets(stream: ServerHttp2Stream): void {
  stream.on("aborted", countAborted);
}

function countAborted(this: ServerHttp2Stream): void {
  countReset(this.session);
}

/** Counts a call that its client has reset; ends a connection whose client does little else. */
export function countReset(session: Http2Session | undefined): void {
  if (session === undefined || session.destroyed) return;
  if (!isCounting) {
    isCounting = true;
    setImmediate(() => {
      isCounting = false;
      resets = new WeakMap();
    });
  }
  const count = (resets.get(session) ?? 0) + 1;
  resets.set(session, count);
  const limit = limits.get(session);
  if (limit !== undefined && (count > limit.perTurn || !takeOne(limit))) endFlood(session, "too_many_resets");
}

/** Takes a reset from those that are left; false if there is none. */
function takeOne(limit: ResetLimits): boolean {
  const now = performance.now();
  const regained = ((now - limit.countedAt) / 1000) * STORE.perSecond;
  limit.left = Math.min(STORE.most, limit.left + regained) - 1;
  limit.countedAt = now;
  return limit.left >= 0;
}
