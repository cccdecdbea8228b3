import { once } from "node:events";
import { constants, type Http2Session } from "node:http2";
import { expect, it } from "vitest";
import { endFlood } from "../../src/grpc/end-flood.ts";
import { openStream } from "./open-stream.ts";

it("says why, and destroys no session in the turn in which a frame of it is read, on which Node.js may abort", async () => {
  const { stream, request } = await openStream();
  const [session, client] = [stream.session, request.session] as [Http2Session, Http2Session];
  client.on("error", () => {});
  const goaway = once(client, "goaway");
  endFlood(session, "too_many_pings");
  endFlood(session, "too_many_resets");
  expect(session.socket.destroyed).toBe(false);
  const [code, , data] = await goaway;
  expect([code, String(data)]).toEqual([constants.NGHTTP2_ENHANCE_YOUR_CALM, "too_many_pings"]);
  await expect.poll(() => stream.destroyed).toBe(true);
});
