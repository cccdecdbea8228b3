import { constants, type Http2Session } from "node:http2";
import { PacedConnection } from "./paced-connection.ts";

/**
 * Ends a connection whose client asks too much of the server, saying why, as gRPC's specification of keepalive does:
 * `too_many_pings`. What has been read of it comes to an end before: Node.js aborts the process when a session is destroyed while
 * a frame of it is being read, and the frame resets a stream.
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

/** Lets Node make no streams of the frames that were read together with the last one: it refuses those of a session that closes. */
function ignoreFrames(session: Http2Session): () => void {
  Object.defineProperty(session, "closed", { value: true, configurable: true });
  return () => void Reflect.deleteProperty(session, "closed");
}
