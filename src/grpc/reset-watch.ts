import type { Http2Session, ServerHttp2Stream } from "node:http2";
import { endFlood } from "./end-flood.ts";

/**
 * Calls that a client may begin and reset in one turn of the event loop, besides resetting all concurrent calls that it
 * may have.
 */
const SPARE_RESETS = 16;

/** Number of resets in one turn after which a connection is ended. */
const limits = new WeakMap<Http2Session, number>();
/** Resets of this turn. */
let resets = new WeakMap<Http2Session, number>();
let isCounting = false;

/** Ends a connection whose client resets more calls in a turn than it may have at once, plus some new ones. */
export function limitResets(session: Http2Session, maxCalls: number): void {
  limits.set(session, maxCalls + SPARE_RESETS);
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
  if (count > (limits.get(session) ?? Number.POSITIVE_INFINITY)) endFlood(session, "too_many_resets");
}
