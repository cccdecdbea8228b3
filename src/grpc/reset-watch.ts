import type { Http2Session, ServerHttp2Stream } from "node:http2";
import { endFlood } from "./end-flood.ts";
import { MAX_CONCURRENT_CALLS } from "./http2-connections.ts";

/**
 * Calls that a connection's client resets in one turn of the event loop, after which the connection is ended: a client may give
 * up all that it is allowed at once, and some that it begins then.
 */
const MAX_RESETS_AT_A_TIME = MAX_CONCURRENT_CALLS + 16;

/** Resets of this turn. */
let resets = new WeakMap<Http2Session, number>();
let isCounting = false;

/** Counts resets of a new call when they are read, which may be long before its stream closes: the rest of the same bytes comes between. */
export function watchResets(stream: ServerHttp2Stream): void {
  stream.on("aborted", countAborted);
}

function countAborted(this: ServerHttp2Stream): void {
  countReset(this.session);
}

/** Counts a call that its client has reset; ends a connection whose client does nothing else. */
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
  if (count > MAX_RESETS_AT_A_TIME) endFlood(session, "too_many_resets");
}
