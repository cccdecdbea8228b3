import { EventEmitter, once } from "node:events";
import { connect, type Http2Session } from "node:http2";
import { connect as connectSocket } from "node:net";
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { LagWatch } from "../../src/grpc/connection-watch.ts";
import { PacedConnection } from "../../src/grpc/paced-connection.ts";
import { RawClient } from "../proxy/raw-client.ts";
import { openStream } from "./open-stream.ts";
import { ScriptedService, serve } from "./scripted-service.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS = "\0\0\0\x04\0\0\0\0\0";
/** The client begins no more calls. */
const GOAWAY = "\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0";
/** A header frame of 100 bytes, of which one has come. */
const HALF_HEADERS = "\0\0\x64\x01\x04\0\0\0\x01\x82";
/** Headers that refer to no entry of a table, after which nghttp2 reads nothing any more. */
const UNREADABLE_HEADERS = "\0\0\x01\x01\x04\0\0\0\x01\x80";

it.each([
  ["nothing", ""],
  ["half of the preface", PREFACE.slice(0, 10)],
  ["only the preface", PREFACE],
  ["half of its settings", PREFACE + SETTINGS.slice(0, 4)],
  ["half a header frame", PREFACE + SETTINGS + HALF_HEADERS],
  ["headers that cannot be read", PREFACE + SETTINGS + UNREADABLE_HEADERS],
  ["no answer to a ping", PREFACE + SETTINGS],
])("a connection that sends %s is closed in time", async (_, bytes) => {
  const { port } = await serve(new ScriptedService(), { handshakeTimeoutMs: 100 });
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
  const { address, port } = await serve(new ScriptedService(), { handshakeTimeoutMs: 100 });
  const session = connect(`http://${address}`);
  onTestFinished(() => session.destroy());
  await once(session, "ping");
  for (let round = 0; round < 3; round++) await new RawClient(port).closed();
  await new Promise((resolve) => session.ping(resolve));
  expect(session.destroyed).toBe(false);
});

/** A megabyte that is read in a turn in which the thread is busy. */
const READ_BYTES = 1_000_000;

/** A connection that receives bytes, and what it is told at its end. */
function watched(watch: LagWatch) {
  const ends: string[] = [];
  const reading: string[] = [];
  const handle = { readStop: () => reading.push("stop"), readStart: () => reading.push("start") };
  const socket = { bytesRead: 0, _handle: handle };
  const state = { effectiveRecvDataLength: 0 };
  const session = Object.assign(new EventEmitter(), {
    destroyed: false,
    socket,
    state,
    goaway: (_code: number, _last: number, reason: Buffer) => void ends.push(String(reason)),
    destroy: () => void session.emit("close"),
  });
  onTestFinished(() => void session.emit("close"));
  const http2 = session as unknown as Http2Session;
  watch.add(http2);
  return { socket, state, ends, reading, connection: PacedConnection.of(http2) };
}

/** Keeps the thread busy for longer than a look may be late, then lets it look. */
async function beBusy(): Promise<void> {
  for (const end = performance.now() + 120; performance.now() < end; );
  // Timers are between two turns.
  await nextTurn();
  await nextTurn();
}

it("ends a connection whose bytes keep the thread busy without any event, and no other", async () => {
  const watch = new LagWatch();
  const [flood, quiet, calls, refused] = [watched(watch), watched(watch), watched(watch), watched(watch)];
  for (let turn = 0; turn < 5; turn++) {
    for (const each of [flood, calls, refused]) each.socket.bytesRead += READ_BYTES;
    // Frames of calls, each of which Node tells of; and data of calls that are over, of which it does not.
    for (let frame = 0; frame < READ_BYTES / 16_000; frame++) calls.connection?.beginPiece();
    refused.state.effectiveRecvDataLength += READ_BYTES;
    await beBusy();
  }
  expect(flood.ends).toEqual(["too_many_silent_frames"]);
  expect([quiet, calls, refused].flatMap(({ ends }) => ends)).toEqual([]);
});

it("ends a connection of which each read keeps the thread busy", async () => {
  const flood = watched(new LagWatch());
  for (let turn = 0; turn < 3; turn++) {
    flood.socket.bytesRead += 64 * 1024;
    await beBusy();
  }
  expect(flood.ends).toEqual(["too_many_silent_frames"]);
});

it("ends a connection that lets the thread rest between the times that it keeps it busy", async () => {
  const watch = new LagWatch();
  const [flood, calls] = [watched(watch), watched(watch)];
  for (let turn = 0; turn < 2; turn++) {
    for (const each of [flood, calls]) each.socket.bytesRead += READ_BYTES;
    for (let frame = 0; frame < READ_BYTES / 16_000; frame++) calls.connection?.beginPiece();
    await beBusy();
    await wait(120);
  }
  expect(flood.ends).toEqual(["too_many_silent_frames"]);
  expect(calls.ends).toEqual([]);
});

it("leaves a connection that may have kept the thread busy unread in the next turn, and no other", async () => {
  const watch = new LagWatch();
  const [flood, quiet] = [watched(watch), watched(watch)];
  flood.socket.bytesRead += READ_BYTES;
  await beBusy();
  await nextTurn();
  expect([flood, quiet].map(({ reading }) => reading)).toEqual([["stop", "start"], []]);
  expect(flood.ends).toEqual([]);
});

it("counts a late turn alone for nothing, however many bytes came before", async () => {
  const watch = new LagWatch();
  const flood = watched(watch);
  flood.socket.bytesRead += 100 * READ_BYTES;
  await beBusy();
  await beBusy();
  expect(flood.ends).toEqual([]);
});

it("finds in the Node.js that runs what a session has received", async () => {
  const { stream } = await openStream();
  const { session } = stream;
  expect(session?.socket.bytesRead).toBeGreaterThan(24);
  expect(session?.state.effectiveRecvDataLength).toBeGreaterThanOrEqual(0);
});
