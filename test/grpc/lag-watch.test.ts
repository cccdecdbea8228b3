import { EventEmitter } from "node:events";
import type { Http2Session } from "node:http2";
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { LagWatch } from "../../src/grpc/lag-watch.ts";
import { PacedConnection } from "../../src/grpc/paced-connection.ts";
import { openStream } from "./open-stream.ts";

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
