import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { EventLoopTurns, isSmallPiece, TurnUse } from "../../../src/platform/limits/event-loop-turns.ts";
import { TurnClient } from "../../../src/platform/limits/waiting-work.ts";

// The clock goes on by work alone: another process that takes the core would be charged to the client that is served.
let clockMs = 0;
beforeEach(() => {
  clockMs = 1;
  vi.spyOn(performance, "now").mockImplementation(() => clockMs);
});
afterEach(() => vi.restoreAllMocks());

function work(ms: number): void {
  clockMs += ms;
}

/** Work of a connection that has to wait for its turn. */
function serve(turns: EventLoopTurns, use: TurnUse, ms: number): Promise<void> {
  return new Promise((resolve) => {
    turns.wait(use, () => {
      turns.resume(use);
      work(ms);
      resolve();
    });
  });
}

it("gives time to the first connections of a turn, and none to busy ones once it is spent", () => {
  const turns = new EventLoopTurns();
  const greedy = new TurnUse();
  expect(turns.begin(greedy)).toBeGreaterThan(0);
  work(10);
  expect(turns.begin(greedy)).toBe(0);
});

it("always has a little for those who used little", () => {
  const turns = new EventLoopTurns();
  const [greedy, modest] = [new TurnUse(), new TurnUse()];
  const most = turns.begin(greedy);
  work(4);
  turns.begin(greedy);
  turns.wait(greedy, () => {});
  const little = turns.begin(modest);
  expect(little).toBeGreaterThan(0);
  expect(little).toBeLessThan(most);
});

it("has no time left for any connection in a turn that has taken long", () => {
  const turns = new EventLoopTurns();
  turns.begin(new TurnUse());
  work(10);
  expect(turns.begin(new TurnUse())).toBe(0);
});

it("has two milliseconds of a turn for a connection as for any, and then little", () => {
  const turns = new EventLoopTurns();
  turns.begin(new TurnUse());
  work(2);
  expect(turns.begin(new TurnUse())).toBe(0.1);
  expect([isSmallPiece(8192), isSmallPiece(8193)]).toEqual([true, false]);
});

it("begins again with the next turn", async () => {
  const turns = new EventLoopTurns();
  const greedy = new TurnUse();
  const most = turns.begin(greedy);
  work(10);
  await nextTurn();
  expect(turns.begin(greedy)).toBe(most);
});

it("continues those that wait, by turns the oldest and the one that should take least, and few where they take long", async () => {
  const turns = new EventLoopTurns();
  const order: number[] = [];
  for (const [index, tookMs] of [2, 3, 2, 0.1].entries()) {
    const use = new TurnUse();
    for (let piece = 0; piece < 5; piece++) use.learn(tookMs);
    turns.wait(use, () => {
      order.push(index);
      work(10);
    });
  }
  const perTurn: number[] = [];
  while (order.length < 4) {
    const before = order.length;
    await nextTurn();
    perTurn.push(order.length - before);
  }
  expect(order).toEqual([0, 3, 1, 2]);
  expect(Math.max(...perTurn)).toBe(1);
});

it("continues all that wait in one turn where they take no time", async () => {
  const turns = new EventLoopTurns();
  const order: number[] = [];
  for (let index = 0; index < 5; index++) turns.wait(new TurnUse(), () => order.push(index));
  await nextTurn();
  expect(order).toEqual([0, 1, 2, 3, 4]);
});

it("lets one that asks for little wait for few of many that ask for much", async () => {
  const turns = new EventLoopTurns();
  const light = new TurnUse();
  for (let request = 0; request < 5; request++) await serve(turns, light, 0.1);
  let heavy = 0;
  const askForMuch = async (use: TurnUse) => {
    for (; heavy < 600; heavy++) await serve(turns, use, 2);
  };
  const all = Promise.all(Array.from({ length: 40 }, () => askForMuch(new TurnUse())));
  const before: number[] = [];
  while (heavy < 560) {
    const began = heavy;
    await serve(turns, light, 0.1);
    before.push(heavy - began);
  }
  await all;
  expect(Math.max(...before)).toBeLessThan(10);
});

it.each([
  ["many connections of one client", 1],
  ["connections of two clients", 2],
])("lets a client wait for a few of %s that ask for as much as it does", async (_, count) => {
  const turns = new EventLoopTurns();
  const clients = Array.from({ length: count }, () => new TurnClient());
  let served = 0;
  const ask = async (use: TurnUse) => {
    for (; served < 400; served++) await serve(turns, use, 1);
  };
  const all = Promise.all(Array.from({ length: 40 }, (_, at) => ask(new TurnUse(clients[at % count]))));
  const own = new TurnUse();
  const before: number[] = [];
  while (served < 360) {
    const began = served;
    await serve(turns, own, 1);
    before.push(served - began);
  }
  await all;
  expect(Math.max(...before)).toBeLessThanOrEqual(2 * (count + 1));
});

it("has what arrives of a client wait while other work of it does, if there are other clients", async () => {
  const turns = new EventLoopTurns();
  const client = new TurnClient();
  const [one, two, third] = [new TurnUse(client), new TurnUse(client), new TurnUse(client)];
  turns.begin(one);
  turns.wait(one, () => {});
  // It is alone.
  expect(turns.begin(two)).toBeGreaterThan(0);
  const other = new TurnUse(new TurnClient());
  expect(turns.begin(other)).toBeGreaterThan(0);
  expect(turns.begin(third)).toBe(0);
  expect(turns.begin(other)).toBeGreaterThan(0);
  await nextTurn();
  expect(turns.begin(third)).toBeGreaterThan(0);
});

it("has time in a turn for clients that had none of it, and none for others of the one that has used it up", () => {
  const turns = new EventLoopTurns();
  const client = new TurnClient();
  const other = new TurnUse(new TurnClient());
  turns.begin(other);
  turns.begin(new TurnUse(client));
  work(3);
  expect(turns.begin(new TurnUse(client))).toBe(0);
  expect(turns.begin(other)).toBe(1);
  work(3);
  expect(turns.begin(other)).toBe(0);
});

it("has all of each turn for a lone client, whose connections the server opens meanwhile", () => {
  const turns = new EventLoopTurns();
  const client = new TurnClient();
  turns.begin(new TurnUse(client));
  turns.begin(new TurnUse());
  turns.begin(new TurnUse(client));
  work(1.5);
  expect(turns.begin(new TurnUse(client))).toBeGreaterThan(0);
});

it("gives a connection the less time the more follows from what it sends", async () => {
  const turns = new EventLoopTurns();
  const [small, large] = [new TurnUse(), new TurnUse()];
  const ask = async (use: TurnUse, followsMs: number) => {
    const mayTakeMs = turns.begin(use);
    work(1);
    turns.did(use);
    work(followsMs);
    await nextTurn();
    return mayTakeMs;
  };
  for (let piece = 0; piece < 10; piece++) {
    expect(await ask(small, 1)).toBe(1);
    await ask(large, 99);
  }
  expect(await ask(large, 99)).toBeCloseTo(0.16);
});

it("forgets clients that have sent nothing for some turns: one that is alone has all of each", async () => {
  const turns = new EventLoopTurns();
  const client = new TurnClient();
  const [one, two] = [new TurnUse(client), new TurnUse(client)];
  turns.begin(new TurnUse(new TurnClient()));
  turns.begin(one);
  work(3);
  expect(turns.begin(two)).toBe(0);
  for (let turn = 0; turn < 20; turn++) {
    await nextTurn();
    turns.begin(one);
  }
  work(3);
  expect(turns.begin(two)).toBeGreaterThan(0);
});

it("does not take for large what was held up once", () => {
  const use = new TurnUse();
  for (let piece = 0; piece < 10; piece++) use.learn(0.1);
  use.learn(50);
  expect(use.expectedMs).toBeLessThan(0.5);
});

it("lets a small piece of work come before all that is not known to be small", async () => {
  const turns = new EventLoopTurns();
  const order: string[] = [];
  const [quick, slow] = [new TurnUse(), new TurnUse()];
  for (let piece = 0; piece < 5; piece++) {
    quick.learn(0.1);
    slow.learn(2);
  }
  for (const name of ["first", "second", "third"]) turns.wait(quick, () => order.push(name));
  turns.wait(
    slow,
    () => order.push("small"),
    () => true,
  );
  await nextTurn();
  expect(order).toEqual(["first", "small", "second", "third"]);
});

it("does not count the time between two turns", async () => {
  const turns = new EventLoopTurns();
  const use = new TurnUse();
  for (let piece = 0; piece < 10; piece++) await serve(turns, use, 1);
  await nextTurn();
  work(1000);
  turns.begin(new TurnUse());
  expect(use.expectedMs).toBeLessThan(1.5);
});

it("ends a turn that began in continued work with that work, before other data arrives", async () => {
  const turns = new EventLoopTurns();
  const [waiting, arriving] = [new TurnUse(), new TurnUse()];
  const began = new Promise<void>((resolve) => {
    turns.wait(waiting, () => {
      turns.resume(waiting);
      turns.begin(waiting);
      work(20);
      resolve();
    });
  });
  await began;
  // The microtasks and ticks of that work; no other turn of the event loop has begun.
  await new Promise((resolve) => process.nextTick(() => queueMicrotask(() => process.nextTick(resolve))));
  expect(turns.begin(arriving)).toBe(1);
});
