import { once } from "node:events";
import { connect, constants, type Http2Session, type Settings } from "node:http2";
import { expect, it, onTestFinished } from "vitest";
import { CONNECTION_WINDOW_BYTES, STREAM_WINDOW_BYTES } from "../../src/grpc/http2-connections.ts";
import { ScriptedService, serve } from "./scripted-service.ts";

it("lets a client send 1 MB ahead on a stream and 16 MB on a connection", async () => {
  const { address } = await serve(new ScriptedService());
  const session = connect(`http://${address}`);
  onTestFinished(() => session.destroy());
  const [settings] = (await once(session, "remoteSettings")) as [Settings];
  expect(settings.initialWindowSize).toBe(STREAM_WINDOW_BYTES);
  expect(await remoteWindow(session)).toBe(CONNECTION_WINDOW_BYTES);
});

/** The window update follows the settings in a frame of its own; a ping's answer comes after both. */
async function remoteWindow(session: Http2Session): Promise<number | undefined> {
  await new Promise((resolve) => session.ping(resolve));
  return session.state.remoteWindowSize;
}

it("ends a connection whose client does nothing but ping, saying so", async () => {
  const { address } = await serve(new ScriptedService());
  const session = connect(`http://${address}`);
  onTestFinished(() => session.destroy());
  session.on("error", () => {});
  await once(session, "remoteSettings");
  const flood = setInterval(() => {
    for (let pings = 0; pings < 8 && !session.destroyed; pings++) session.ping(() => {});
  });
  onTestFinished(() => clearInterval(flood));
  const [code, , data] = await once(session, "goaway");
  expect([code, String(data)]).toEqual([constants.NGHTTP2_ENHANCE_YOUR_CALM, "too_many_pings"]);
});
