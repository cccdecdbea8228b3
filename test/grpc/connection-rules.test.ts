import { once } from "node:events";
import { connect, type Settings } from "node:http2";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { readChannelArguments } from "../../src/grpc/connection-rules.ts";
import { FLAG, FRAME, MAX_WINDOW_BYTES } from "../../src/http2/protocol.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { markPassedOn } from "../../src/platform/net/sockets.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { RawClient, REQUEST } from "../http2/raw-client.ts";
import { ScriptedService, serve } from "./scripted-service.ts";

async function openSession(...channelArguments: string[]) {
  const { address } = await serve(new ScriptedService(), { channelArguments });
  const session = connect(`http://${address}`);
  onTestFinished(() => session.destroy());
  // The server cuts it if a test says so.
  session.on("error", () => {});
  return session;
}

describe("gRPC's channel arguments", () => {
  it("limit the calls of a connection", async () => {
    const [settings] = (await once(await openSession("grpc.max_concurrent_streams=7"), "remoteSettings")) as [Settings];
    expect(settings.maxConcurrentStreams).toBe(7);
  });

  it("leave one alone that another thread passes on, whose client's connection is in that thread", async () => {
    const texts = ["grpc.max_connection_age_ms=20", "grpc.max_connection_idle_ms=20"];
    const server = await serve(new ScriptedService(), { channelArguments: texts });
    const inner = createServer((socket) => server.accept(markPassedOn(socket)));
    onTestFinished(() => void inner.close());
    await new Promise<void>((resolve) => inner.listen(0, "127.0.0.1", resolve));
    const session = connect(`http://127.0.0.1:${(inner.address() as AddressInfo).port}`);
    onTestFinished(() => session.destroy());
    await once(session, "remoteSettings");
    await setTimeout(200);
    expect(session.closed).toBe(false);
  });

  it.each(["grpc.max_connection_age_ms=50", "grpc.max_connection_idle_ms=50"])("%s ends a connection", async (text) => {
    const session = await openSession(text);
    await once(session, "goaway");
    await once(session, "close");
  });

  it.each([
    ["grpc.max_connection_age_ms", "once its client has answered", 120_000],
    ["grpc.max_connection_idle_ms", "once its client has answered", 120_000],
    ["grpc.max_connection_age_ms", "in the time for a ping, if it does not answer", 100],
  ])("%s takes calls that cross its GOAWAY, and ends the connection %s", async (key, _, timeoutMs) => {
    const channelArguments = [`${key}=50`, `grpc.keepalive_timeout_ms=${timeoutMs}`];
    const { port } = await serve(new ScriptedService(), { channelArguments });
    const client = await RawClient.open(port);
    const lastOf = async () => (await client.receive(({ type }) => type === FRAME.goaway)).payload.readUInt32BE(0);
    expect(await lastOf()).toBe(MAX_WINDOW_BYTES);
    const ping = await client.receive(({ type }) => type === FRAME.ping);
    const path = "/inference.GRPCInferenceService/ServerLive";
    client.sendHeaders(1, { ...REQUEST, ":path": path, "content-type": "application/grpc", te: "trailers" }, 0);
    client.sendData(1, Buffer.alloc(5), FLAG.endStream);
    await client.receive(({ id, flags }) => id === 1 && flags === (FLAG.endHeaders | FLAG.endStream));
    if (timeoutMs > 1000) client.send(FRAME.ping, FLAG.ack, 0, ping.payload);
    expect(await lastOf()).toBe(1);
    await client.closed();
  });

  it("give the calls of an old connection their grace, then cut them", async () => {
    const session = await openSession("grpc.max_connection_age_ms=20", "grpc.max_connection_age_grace_ms=50");
    const call = session.request(
      {
        ":method": "POST",
        ":path": "/grpc.health.v1.Health/Watch",
        "content-type": "application/grpc",
        te: "trailers",
      },
      { endStream: false },
    );
    call.on("error", () => {});
    call.write(Buffer.alloc(5));
    await once(session, "goaway");
    expect(call.closed).toBe(false);
    await once(call, "close");
  });

  it("set how often a client is pinged, and how long it has to answer", async () => {
    const session = await openSession("grpc.keepalive_time_ms=30", "grpc.keepalive_timeout_ms=5000");
    for (let pings = 0; pings < 3; pings++) await once(session, "ping");
  });

  it("that say nothing here are named in one warning", async () => {
    const { log, events } = createEventLog();
    const rules = readChannelArguments(["grpc.lb_policy_name=grpclb", "grpc.keepalive_time_ms=-1", "a.b=c=d"], log);
    expect(rules).toEqual({});
    expect(events).toMatchObject([{ level: "warn", ignored: ["grpc.lb_policy_name", "a.b"] }]);
  });

  it.each([
    ["grpc.max_connection_age_ms", 'The gRPC channel argument is "grpc.max_connection_age_ms"; expected KEY=VALUE.'],
    ["=5", 'The gRPC channel argument is "=5"; expected KEY=VALUE.'],
    [
      "grpc.max_connection_age_ms=soon",
      'The gRPC channel argument grpc.max_connection_age_ms is "soon"; expected an integer of 1 or more, or -1 for no limit.',
    ],
    [
      "grpc.max_concurrent_streams=0",
      'The gRPC channel argument grpc.max_concurrent_streams is "0"; expected an integer of 1 or more, or -1 for no limit.',
    ],
  ])("refuses %s", (text, message) => {
    expect(() => readChannelArguments([text], createSilentLogger())).toThrow(
      expect.objectContaining({ code: "invalid_argument", message }),
    );
  });
});
