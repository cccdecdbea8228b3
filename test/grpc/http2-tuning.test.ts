import { once } from "node:events";
import { connect, type Http2Session, type Settings } from "node:http2";
import { Server } from "@grpc/grpc-js";
import { expect, it, onTestFinished } from "vitest";
import { ConnectionWatch } from "../../src/grpc/connection-watch.ts";
import { CONNECTION_WINDOW_BYTES, STREAM_WINDOW_BYTES, tuneHttp2 } from "../../src/grpc/http2-tuning.ts";
import { AccessLog } from "../../src/observability/access-log.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
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

it("leaves a server alone that has no place for it", () => {
  const server = new Server();
  Object.assign(server, { createHttp2Server: undefined });
  const access = new AccessLog(createSilentLogger(), false);
  expect(tuneHttp2(server, { access, watch: new ConnectionWatch(1000) })).toBeUndefined();
  server.forceShutdown();
});
