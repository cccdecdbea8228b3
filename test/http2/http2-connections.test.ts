import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type Http2Session,
  type Settings,
} from "node:http2";
import { createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { ConnectionWatch } from "../../src/http2/connection-watch.ts";
import { Http2Connections } from "../../src/http2/http2-connections.ts";
import { ERROR } from "../../src/http2/protocol.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import type { MemoryShare } from "../../src/platform/limits/memory/memory-share.ts";
import { CONNECTION_WINDOW_BYTES, STREAM_WINDOW_BYTES } from "../../src/platform/limits/transport-limits.ts";
import { callFrames, OPENING, resetFrames } from "../grpc/flood-frames.ts";
import { ScriptedService, serve } from "../grpc/scripted-service.ts";
import { RawClient } from "../proxy/raw-client.ts";
import { listenOnFreePort } from "./listen-on-free-port.ts";

/** A ping frame, and the server's answer to it. */
const toPing = (text: string) => Buffer.concat([Buffer.of(0, 0, 8, 6, 0, 0, 0, 0, 0), Buffer.from(text)]);
const PING = toPing("anybody?");
const PONG = /anybody\?/;

it("lets a client send 1 MB ahead on a stream and 16 MB on a connection", async () => {
  const { address } = await serve(new ScriptedService());
  const session = connect(`http://${address}`);
  onTestFinished(() => session.destroy());
  const [settings] = (await once(session, "remoteSettings")) as [Settings];
  expect(settings.initialWindowSize).toBe(STREAM_WINDOW_BYTES);
  expect(await remoteWindow(session)).toBe(CONNECTION_WINDOW_BYTES);
});

/** The window update follows the settings in its own frame; a ping's answer comes after both. */
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

it("ends a connection whose client resets calls as fast as it begins them", async () => {
  const { address } = await serve(new ScriptedService());
  const session = connect(`http://${address}`);
  onTestFinished(() => session.destroy());
  session.on("error", () => {});
  await once(session, "remoteSettings");
  const flood = setInterval(() => {
    for (let calls = 0; calls < 800 && !session.destroyed; calls++) beginCall(session).close(constants.NGHTTP2_CANCEL);
  });
  onTestFinished(() => clearInterval(flood));
  const closed = new Promise((resolve) => session.once("close", resolve));
  const [code, , data] = await once(session, "goaway");
  clearInterval(flood);
  expect([code, String(data)]).toEqual([constants.NGHTTP2_ENHANCE_YOUR_CALM, "too_many_resets"]);
  await closed;
});

it("ends it while the bytes with the resets are still being read, and starts no more of the calls", async () => {
  const memory = new CountedBudget(1e9);
  const { port } = await serve(new ScriptedService(), { memory });
  const client = new RawClient(port);
  client.socket.write(resetFrames("/inference.GRPCInferenceService/ServerLive", 2000));
  expect(await client.closed()).toContain("too_many_resets");
  // 900 at once, and 33 for each second that it took.
  expect(memory.opened).toBeLessThan(1000);
});

it("ends a connection that goes on resetting calls, a few at a time", async () => {
  const { port } = await serve(new ScriptedService());
  const client = new RawClient(port);
  const closed = client.closed();
  const bytesOf = (calls: number) => resetFrames("/inference.GRPCInferenceService/ServerLive", calls);
  const all = bytesOf(1000);
  for (let sent = 0; sent < 1000 && !client.socket.destroyed; sent += 50) {
    const piece = all.subarray(sent === 0 ? 0 : bytesOf(sent).length, bytesOf(sent + 50).length);
    const text = String(sent).padStart(8, ".");
    client.socket.write(Buffer.concat([piece, toPing(text)]));
    // The ping's answer shows that these calls were read in a turn of their own.
    await Promise.race([closed, client.received(new RegExp(text))]);
  }
  expect(await closed).toContain("too_many_resets");
});

/** Counts the calls that ask for a share. */
class CountedBudget extends MemoryBudget {
  opened = 0;

  override open(): MemoryShare {
    this.opened++;
    return super.open();
  }
}

it("lets a client give up all of its calls at once, and begin others", async () => {
  const { address } = await serve(new ScriptedService());
  const session = connect(`http://${address}`);
  onTestFinished(() => session.destroy());
  await once(session, "remoteSettings");
  for (const call of Array.from({ length: 256 }, () => beginCall(session))) call.close(constants.NGHTTP2_CANCEL);
  // Until this is answered the calls count.
  await new Promise((resolve) => session.ping(resolve));
  const others = Array.from({ length: 60 }, () => beginCall(session).end());
  const statuses = await Promise.all(others.map(async (call) => (await once(call, "response"))[0][":status"]));
  expect(statuses).toEqual(Array(60).fill(200));
});

it("lets a client give up as many calls at once as grpc.max_concurrent_streams allows", async () => {
  const { port } = await serve(new ScriptedService(), { channelArguments: ["grpc.max_concurrent_streams=400"] });
  const client = new RawClient(port);
  client.socket.write(Buffer.concat([resetFrames("/inference.GRPCInferenceService/ServerLive", 350), PING]));
  expect(await client.received(PONG)).not.toContain("too_many_resets");
});

it("asks clients to leave, and yet answers the calls that were on their way then", async () => {
  const server = await serve(new ScriptedService());
  const client = new RawClient(server.port);
  const path = "/inference.GRPCInferenceService/ServerLive";
  client.socket.write(Buffer.concat([OPENING, callFrames(path, 1)]));
  await client.received(trailersOf(1));
  server.retire();
  await client.received(goawayAfter(0x7fffffff));
  client.socket.write(callFrames(path, 3));
  await client.received(trailersOf(3));
  const closed = server.close(60_000);
  await client.received(goawayAfter(3));
  client.socket.end();
  await closed;
});

it("says nothing of leaving to a client before its own settings are there, and answers it", async () => {
  const server = await serve(new ScriptedService());
  const early = new RawClient(server.port);
  await once(early.socket, "connect");
  server.retire();
  early.socket.write(Buffer.concat([OPENING, callFrames("/inference.GRPCInferenceService/ServerLive", 1)]));
  expect(await early.received(trailersOf(1))).not.toMatch(goawayAfter(0x7fffffff));
});

/** A GOAWAY frame without an error that names the last stream. */
function goawayAfter(stream: number): RegExp {
  const last = Buffer.alloc(4);
  last.writeUInt32BE(stream);
  const bytes = Buffer.concat([Buffer.of(0, 0, 8, 7, 0, 0, 0, 0, 0), last, Buffer.alloc(4)]);
  return new RegExp(Array.from(bytes, (byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join(""));
}

/** The headers that end a stream. */
function trailersOf(stream: number): RegExp {
  return new RegExp(`\\x01\\x05\\x00\\x00\\x00\\x0${stream}`);
}

function beginCall(session: ClientHttp2Session): ClientHttp2Stream {
  const headers = { ":method": "POST", ":path": "/inference.GRPCInferenceService/ServerLive", te: "trailers" };
  const call = session.request({ ...headers, "content-type": "application/grpc" });
  return call.on("error", () => {});
}

it.each([
  ["bytes of", { "x-long": "a".repeat(70_000) }],
  ["entries of", Object.fromEntries(Array.from({ length: 130 }, (_, index) => [`x-${index}`, "a"]))],
])("a call with more %s metadata than a call may have is refused, and the connection goes on", async (_, metadata) => {
  const { address } = await serve(new ScriptedService());
  const session = connect(`http://${address}`, { maxSendHeaderBlockLength: 1_000_000 });
  onTestFinished(() => session.destroy());
  // The limits count once they are known to the client.
  await once(session, "remoteSettings");
  const stream = session.request({
    ":method": "POST",
    ":path": "/a/b",
    "content-type": "application/grpc",
    ...metadata,
  });
  stream.resume();
  const [reason] = await once(stream, "error");
  expect(reason).toMatchObject({ code: "ERR_HTTP2_STREAM_ERROR" });
  await new Promise((resolve) => session.ping(resolve));
  expect(session.destroyed).toBe(false);
});

it("ends a connection whose only call was ended as soon as it began, once it is idle for too long", async () => {
  // The client answers no ping.
  const rules = { maxIdleMs: 100, pingTimeoutMs: 100 };
  const connections = new Http2Connections(new ConnectionWatch(60_000), rules, (stream) => stream.reset(ERROR.cancel));
  const server = createServer((socket) => connections.accept(socket));
  onTestFinished(() => {
    connections.cut();
    server.close();
  });
  const client = new RawClient(await listenOnFreePort(server));
  client.socket.write(Buffer.concat([OPENING, callFrames("/a/b", 1)]));
  expect(await client.closed()).toMatch(goawayAfter(1));
});
