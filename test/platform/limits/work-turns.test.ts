import { Server, Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { ConnectionLimit } from "../../../src/platform/limits/connection-limit.ts";
import { goOnTogether, WorkTurns } from "../../../src/platform/limits/work-turns.ts";

const SMALL = 100;
const LARGE = 100_000;
const CONNECTION = new Socket();

/** A request of two steps, which are noted. */
function begin(name: string, bytes: number, steps: string[]): void {
  void new Promise<void>((resolve) => goOnTogether(bytes, CONNECTION, resolve))
    .then(() => steps.push(`${name} decoded`))
    .then(() => steps.push(`${name} answered`));
}

it("lets small requests of a turn go on at its end, a step of each in turn", async () => {
  const steps: string[] = [];
  for (const name of ["first", "second"]) begin(name, SMALL, steps);
  await Promise.resolve().then(() => {});
  expect(steps).toEqual([]);
  await nextTurn();
  expect(steps).toEqual(["first decoded", "second decoded", "first answered", "second answered"]);
});

it("lets a large request go on at once, and alone", async () => {
  const steps: string[] = [];
  begin("large", LARGE, steps);
  begin("small", SMALL, steps);
  for (let tick = 0; tick < 5; tick++) await Promise.resolve();
  expect(steps).toEqual(["large decoded", "large answered"]);
  await nextTurn();
});

it("leaves so many requests that they would take long to later turns, in order", async () => {
  const done: number[] = [];
  for (let index = 0; index < 70; index++) goOnTogether(SMALL, CONNECTION, () => done.push(index));
  const counts: number[] = [];
  while (done.length < 70) {
    await nextTurn();
    counts.push(done.length);
  }
  expect(counts).toEqual([32, 64, 70]);
  expect(done).toEqual(Array.from({ length: 70 }, (_, index) => index));
});

it("lets connections have one request after the other go on in turn, however many each has", async () => {
  const done: string[] = [];
  const [many, few, one] = [new Socket(), new Socket(), new Socket()];
  for (let index = 0; index < 100; index++) goOnTogether(SMALL, many, () => done.push("many"));
  for (let index = 0; index < 2; index++) goOnTogether(SMALL, few, () => done.push("few"));
  goOnTogether(SMALL, one, () => done.push("one"));
  await nextTurn();
  expect(done.slice(0, 6)).toEqual(["many", "few", "one", "many", "few", "many"]);
  while (done.length < 103) await nextTurn();
});

/** Connections that a port has taken from these addresses. */
function connectionsFrom(...addresses: string[]): Socket[] {
  const port = new Server();
  new ConnectionLimit({ max: 0, onProblem: () => {} }).guard(port);
  return addresses.map((value) => {
    const socket = Object.defineProperty(new Socket(), "remoteAddress", { value });
    port.emit("connection", socket);
    return socket;
  });
}

it("lets clients have one request after the other go on in turn, however many connections each has", async () => {
  const done: string[] = [];
  const many = connectionsFrom("127.0.0.2", ...Array.from({ length: 40 }, () => "127.0.0.2"));
  const [few] = connectionsFrom("127.0.0.3") as [Socket];
  const ask = (connection: Socket, name: string) => goOnTogether(SMALL, connection, () => done.push(name));
  for (const [at, connection] of many.entries()) ask(connection, String(at));
  for (let request = 0; request < 3; request++) ask(few, "few");
  await nextTurn();
  expect(done.slice(0, 7)).toEqual(["0", "few", "1", "few", "2", "few", "3"]);
  while (done.length < 44) await nextTurn();
});

it("does work of a kind at once while there is time for it, with what it starts, and else in a later turn", async () => {
  await nextTurn();
  let clockMs = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => clockMs);
  onTestFinished(() => clock.mockRestore());
  const kind = new WorkTurns();
  const done: string[] = [];
  const fail = () => {
    clockMs += 10;
    kind.take(() => done.push("started by it"));
    throw new Error("it fails");
  };
  expect(() => kind.take(fail)).toThrow("it fails");
  kind.take(() => done.push("later"));
  expect(done).toEqual(["started by it"]);
  while (done.length < 2) await nextTurn();
  expect(done).toEqual(["started by it", "later"]);
});
