import { once } from "node:events";
import { connect } from "node:http2";
import { connect as connectSocket, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ConnectionWatch, cutStream } from "../../src/http2/connection-watch.ts";
import { uint32s } from "../../src/http2/frame-output.ts";
import { Http2Connections } from "../../src/http2/http2-connections.ts";
import { ERROR, FLAG, FRAME, SETTING } from "../../src/http2/protocol.ts";
import type { ServerStream } from "../../src/http2/server-session.ts";
import { unsentBytesOf } from "../../src/platform/net/node-members.ts";
import { ScriptedService, serve } from "../grpc/scripted-service.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { RawClient } from "../proxy/raw-client.ts";
import { listenOnFreePort } from "./listen-on-free-port.ts";
import { RawClient as FrameClient } from "./raw-client.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS = "\0\0\0\x04\0\0\0\0\0";
/** The answer to those of the server. */
const ANSWER = "\0\0\0\x04\x01\0\0\0\0";
/** The client begins no more calls. */
const GOAWAY = "\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0";
/** A header frame of 100 bytes, of which one has come. */
const HALF_HEADERS = "\0\0\x64\x01\x04\0\0\0\x01\x82";
/** Headers that refer to no entry of a table. */
const UNREADABLE_HEADERS = "\0\0\x01\x01\x04\0\0\0\x01\x80";

it.each([
  ["nothing", ""],
  ["half of the preface", PREFACE.slice(0, 10)],
  ["only the preface", PREFACE],
  ["half of its settings", PREFACE + SETTINGS.slice(0, 4)],
  ["half a header frame", PREFACE + SETTINGS + HALF_HEADERS],
  ["headers that cannot be read", PREFACE + SETTINGS + UNREADABLE_HEADERS],
  ["no answer to the server's settings", PREFACE + SETTINGS],
  ["no answer to a ping", PREFACE + SETTINGS + ANSWER],
])("a connection that sends %s is closed in time", async (_, bytes) => {
  const channelArguments = ["grpc.keepalive_time_ms=30"];
  const { port } = await serve(new ScriptedService(), { handshakeTimeoutMs: 100, channelArguments });
  const client = new RawClient(port);
  client.write(bytes);
  await client.closed();
});

it("a connection whose client ends its session, but not the connection, is closed in time", async () => {
  const { port } = await serve(new ScriptedService(), { handshakeTimeoutMs: 100 });
  const client = connectSocket({ port, allowHalfOpen: true });
  client.write(PREFACE + SETTINGS + GOAWAY, "latin1");
  client.resume();
  await once(client, "end");
  // A connection that is gone answers with a reset.
  const timer = setInterval(() => client.write(SETTINGS, "latin1"), 20);
  onTestFinished(() => clearInterval(timer));
  await expect(once(client, "close")).rejects.toMatchObject({ code: expect.stringMatching(/ECONNRESET|EPIPE/) });
});

it("a connection that answers its ping lives on while others are closed", async () => {
  const channelArguments = ["grpc.keepalive_time_ms=30"];
  const { address, port } = await serve(new ScriptedService(), { handshakeTimeoutMs: 100, channelArguments });
  const session = connect(`http://${address}`);
  onTestFinished(() => session.destroy());
  await once(session, "ping");
  for (let round = 0; round < 3; round++) await new RawClient(port).closed();
  await new Promise((resolve) => session.ping(resolve));
  expect(session.destroyed).toBe(false);
});

const MEGABYTE = 2 ** 20;
/** Bytes that a slow connection sends in a second; it holds more than twice as many. */
const SLOW_RATE = MEGABYTE / 2;
/** Time after which what does not move is given up, in milliseconds. */
const STUCK_MS = 1000;

/** A slow way between a client and a server. */
interface Link {
  bytesPerSecond: number;
}

/** Gives what a Unix socket sends to a client of a port, slowly. The system holds little of such a socket. */
async function slowDown(path: string, link: Link): Promise<number> {
  const server = createServer((client) => {
    const target = connectSocket(path);
    const pass = () => {
      const piece = target.read(Math.min(link.bytesPerSecond / 100, target.readableLength)) as Buffer | null;
      if (piece !== null) client.write(piece);
    };
    const timer = setInterval(pass, 10);
    client.on("error", () => {}).pipe(target.on("error", () => {}));
    client.once("close", () => target.destroy());
    target.once("close", () => clearInterval(timer));
  });
  onTestFinished(() => void server.close());
  return listenOnFreePort(server);
}

/** A server that answers the first request of each connection with much, and a client of it with large windows. */
async function startSlow(watch = new ConnectionWatch(60_000)) {
  const streams: ServerStream[] = [];
  const connections = new Http2Connections(watch, {}, (stream) => {
    streams.push(stream);
    stream.respond({ ":status": 200 });
    if (stream.id === 1) stream.end(Buffer.alloc(2 * MEGABYTE));
  });
  const server = createServer((socket) => connections.accept(socket));
  const path = join(tempFolder({}), "server.sock");
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => {
    connections.cut();
    server.close();
  });
  const windows = Buffer.concat([Buffer.of(0, SETTING.initialWindowSize), uint32s(2 ** 30)]);
  const link: Link = { bytesPerSecond: SLOW_RATE };
  const client = await FrameClient.open(await slowDown(path, link), windows);
  client.widen(0, 2 ** 30);
  client.sendHeaders(1);
  await expect.poll(() => streams.length).toBe(1);
  return { client, link, streams, session: (streams[0] as ServerStream).session };
}

/** Receives the first answer whole while it answers pings; resolves with the milliseconds until the first one. */
async function takeAnswer(client: FrameClient): Promise<number> {
  const began = performance.now();
  let bytes = 0;
  let pingMs = Number.NaN;
  await client.receive(({ type, flags, id, payload }) => {
    if (type === FRAME.ping && (flags & FLAG.ack) === 0) {
      pingMs = Number.isNaN(pingMs) ? performance.now() - began : pingMs;
      client.send(FRAME.ping, FLAG.ack, 0, payload);
    }
    if (type === FRAME.data && id === 1) bytes += payload.length;
    return type === FRAME.data && id === 1 && (flags & FLAG.endStream) !== 0;
  });
  expect(bytes).toBe(2 * MEGABYTE);
  return pingMs;
}

describe("a slow connection on which a large answer is on its way", () => {
  it("is not ended with another stream that is cut, however long the ping waits behind the answer", async () => {
    const { client, streams, session } = await startSlow();
    client.sendHeaders(3);
    await expect.poll(() => streams.length).toBe(2);
    cutStream(streams[1] as ServerStream, ERROR.cancel, STUCK_MS);
    expect(await takeAnswer(client)).toBeGreaterThan(STUCK_MS);
    expect(session.destroyed).toBe(false);
  });

  it("is not ended by a ping that waits behind the answer", async () => {
    const watch = new ConnectionWatch(60_000, { pingIntervalMs: 300, pingTimeoutMs: STUCK_MS });
    const { client, session } = await startSlow(watch);
    expect(await takeAnswer(client)).toBeGreaterThan(STUCK_MS);
    expect(session.destroyed).toBe(false);
  });
});

describe("a connection of which the client takes nothing", () => {
  it.each([
    ["and sends nothing", () => {}],
    ["but sends pings", (client: FrameClient) => client.send(FRAME.ping, 0, 0, Buffer.alloc(8))],
  ])("%s is ended soon after a stream was cut", async (_, send) => {
    const { client, link, streams, session } = await startSlow();
    link.bytesPerSecond = 0;
    const timer = setInterval(() => send(client), 20);
    onTestFinished(() => clearInterval(timer));
    await expect.poll(() => unsentBytesOf(session.socket)).toBeGreaterThan(0);
    cutStream(streams[0] as ServerStream, ERROR.cancel, 50);
    await once(session, "close");
  });
});
