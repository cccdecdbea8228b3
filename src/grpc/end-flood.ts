import { constants, type Http2Session } from "node:http2";
import { PacedConnection } from "./paced-connection.ts";

/**
 * Ends a connection whose client causes too much work, with the reason, for example `too_many_pings` as in gRPC's
 * specification of keepalive. Data that was read is processed before: Node.js aborts the process when a session is
 * destroyed while one of its frames is being read and that frame resets a stream.
 */
export function endFlood(session: Http2Session | undefined, why: string): void {
  const connection = PacedConnection.of(session);
  if (session === undefined || connection === undefined || !connection.stop()) return;
  const restore = ignoreFrames(session);
  setImmediate(() => {
    restore();
    if (session.destroyed) return;
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from(why));
    session.destroy();
  });
}

/**
 * Keeps Node from creating streams for frames that were read together with the last one: it refuses those of a closing
 * session.
 */
function ignoreFrames(session: Http2Session): () => void {
  Object.defineProperty(session, "closed", { value: true, configurable: true });
  return () => void Reflect.deleteProperty(session, "closed");
}
