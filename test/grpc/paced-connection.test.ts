import { EventEmitter } from "node:events";
import type { Http2Session } from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { PacedConnection } from "../../src/grpc/paced-connection.ts";

/** A session whose socket tells how often it was stopped and started. */
function watchedSession() {
  const calls: string[] = [];
  const handle = { readStop: () => calls.push("stop"), readStart: () => calls.push("start") };
  return { session: sessionOn({ _handle: handle }), calls };
}

function sessionOn(socket: object): Http2Session {
  const session = Object.assign(new EventEmitter(), { destroyed: false, socket });
  onTestFinished(() => void session.emit("close"));
  return session as unknown as Http2Session;
}

function work(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

it("is not read on in a turn that it has used up, but in a later one", async () => {
  const { session, calls } = watchedSession();
  const connection = PacedConnection.of(session);
  connection?.beginPiece();
  expect(calls).toEqual([]);
  work(20);
  connection?.beginPiece();
  connection?.beginPiece();
  expect(calls).toEqual(["stop"]);
  await nextTurn();
  await nextTurn();
  expect(calls).toEqual(["stop", "start"]);
});

it("is read on after its session has ended, until its client has closed it", async () => {
  const { session, calls } = watchedSession();
  PacedConnection.of(session)?.skipTurn();
  Object.assign(session, { destroyed: true });
  await expect.poll(() => calls).toEqual(["stop", "start"]);
});

it("starts calls at once while there is time, and in later turns those that come when there is none", async () => {
  const { session, calls } = watchedSession();
  const connection = PacedConnection.of(session);
  const started: string[] = [];
  const begin = (name: string, stream = { closed: false, readableLength: 0 }) => {
    connection?.begin(stream, () => started.push(name));
    return stream;
  };
  begin("first");
  work(20);
  begin("second");
  const reset = begin("reset");
  begin("third");
  expect(started).toEqual(["first"]);
  reset.closed = true;
  await expect.poll(() => started).toEqual(["first", "second", "third"]);
  await expect.poll(() => calls.at(-1)).toBe("start");
});

it("keeps all others unread in the rest of a turn that has no time for its calls", async () => {
  const [busy, other] = [watchedSession(), watchedSession()];
  const connection = PacedConnection.of(busy.session);
  PacedConnection.of(other.session);
  connection?.beginPiece();
  work(20);
  connection?.begin({ closed: false, readableLength: 0 }, () => {});
  connection?.begin({ closed: false, readableLength: 0 }, () => {});
  expect(other.calls).toEqual(["stop"]);
  await expect.poll(() => other.calls).toEqual(["stop", "start"]);
});

it("is read a turn later than those that take little, once its calls took all of a turn", async () => {
  const [busy, modest] = [watchedSession(), watchedSession()];
  const [connection, other] = [PacedConnection.of(busy.session), PacedConnection.of(modest.session)];
  for (let request = 0; request < 5; request++) {
    other?.beginPiece();
    await nextTurn();
  }
  connection?.beginPiece();
  work(20);
  for (let call = 0; call < 2; call++) connection?.begin({ closed: false, readableLength: 0 }, () => {});
  const late = watchedSession();
  PacedConnection.of(late.session);
  await nextTurn();
  expect([modest.calls.at(-1), busy.calls.at(-1), late.calls]).toEqual(["start", "stop", ["stop"]]);
  await nextTurn();
  await nextTurn();
  expect([busy.calls.at(-1), late.calls]).toEqual(["start", ["stop", "start"]]);
});

it("is one for all streams of a session, and none for a session that is over", () => {
  const { session } = watchedSession();
  expect(PacedConnection.of(session)).toBe(PacedConnection.of(session));
  expect(PacedConnection.of(undefined)).toBeUndefined();
  expect(PacedConnection.of({ destroyed: true } as Http2Session)).toBeUndefined();
});

it("starts calls in turns also where Node cannot stop the reading of its socket", async () => {
  const connection = PacedConnection.of(sessionOn({}));
  const started: string[] = [];
  connection?.beginPiece();
  work(20);
  for (const name of ["first", "second"])
    connection?.begin({ closed: false, readableLength: 0 }, () => started.push(name));
  expect(started).toEqual([]);
  await expect.poll(() => started).toEqual(["first", "second"]);
});
