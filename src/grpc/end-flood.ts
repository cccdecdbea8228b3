import { constants, type Http2Session } from "node:http2";

/** Ends a connection whose client asks too much of the server, saying why, as gRPC's specification of keepalive does: `too_many_pings`. */
export function endFlood(session: Http2Session | undefined, why: string): void {
  if (session === undefined || session.destroyed) return;
  session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from(why));
  session.destroy();
}
