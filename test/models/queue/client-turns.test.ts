import { expect, test } from "vitest";
import { ClientTurns, OVERTAKEN_MS, type Turned } from "../../../src/models/queue/client-turns.ts";
import { BEFORE_OTHERS, type CallLimits } from "../../../src/platform/limits/call-limits.ts";

interface Item extends Turned {
  readonly name: string;
}

/** A queue whose time is what the test says. */
function createQueue() {
  const turns = new ClientTurns<Item>();
  const queue: Item[] = [];
  let now = 0;
  const push = (name: string, { rows = 1, ...limits }: CallLimits & { rows?: number } = {}) =>
    turns.insert(queue, { name, limits, rows, since: now, turn: 0 });
  const take = () => {
    const item = queue.shift()!;
    turns.took(item, queue);
    return item.name;
  };
  const remove = (name: string) => turns.remove(queue, queue.find((item) => item.name === name)!);
  const wait = (ms: number) => {
    now += ms;
  };
  const names = () => queue.map(({ name }) => name);
  return { push, take, remove, names, wait };
}

test("of one client 1 comes first, none last, equals in the order they came", () => {
  const { push, names } = createQueue();
  push("none");
  push("third", { priority: 3 });
  push("first", { priority: 1 });
  push("second", { priority: 2 });
  push("first again", { priority: 1 });
  push("none again");
  expect(names()).toEqual(["first", "first again", "second", "third", "none", "none again"]);
});

test("clients take turns, whatever priorities they give themselves", () => {
  const { push, names } = createQueue();
  for (const name of ["a1", "a2", "a3"]) push(name, { priority: 1, client: 1 });
  push("b1", { client: 2 });
  push("a4", { priority: 1, client: 1 });
  push("b2", { client: 2 });
  push("c", { client: 3 });
  expect(names()).toEqual(["a1", "b1", "c", "a2", "b2", "a3", "a4"]);
});

test("a client that comes late neither waits for the others nor makes up for what it missed", () => {
  const { push, take, names } = createQueue();
  for (const name of ["a1", "a2", "a3", "a4"]) push(name, { client: 1 });
  expect([take(), take()]).toEqual(["a1", "a2"]);
  for (const name of ["b1", "b2", "b3"]) push(name, { client: 2 });
  expect(names()).toEqual(["b1", "a3", "b2", "a4", "b3"]);
});

test("rows count", () => {
  const { push, names } = createQueue();
  for (const name of ["a1", "a2"]) push(name, { client: 1, rows: 3 });
  for (const name of ["b1", "b2", "b3", "b4"]) push(name, { client: 2 });
  expect(names()).toEqual(["a1", "b1", "b2", "b3", "a2", "b4"]);
});

test("what is taken out leaves its turn to the next of its client", () => {
  const { push, remove, names } = createQueue();
  for (const name of ["a1", "a2", "a3"]) push(name, { client: 1 });
  for (const name of ["b1", "b2"]) push(name, { client: 2 });
  remove("a1");
  expect(names()).toEqual(["a2", "b1", "a3", "b2"]);
  push("a4", { client: 1 });
  expect(names()).toEqual(["a2", "b1", "a3", "b2", "a4"]);
});

test("who may has its priority before all others, which it does not overtake for ever", () => {
  const { push, names, wait } = createQueue();
  for (const name of ["a1", "a2"]) push(name, { client: 1, priority: 1 });
  push("second", { client: BEFORE_OTHERS, priority: 2 });
  push("first", { client: BEFORE_OTHERS, priority: 1 });
  expect(names()).toEqual(["first", "second", "a1", "a2"]);
  wait(OVERTAKEN_MS);
  push("late", { client: BEFORE_OTHERS, priority: 1 });
  expect(names()).toEqual(["first", "second", "a1", "a2", "late"]);
});

test("a client's own priorities let nothing of it wait for ever", () => {
  const { push, names, wait } = createQueue();
  push("none");
  push("first", { priority: 1 });
  wait(OVERTAKEN_MS);
  push("late", { priority: 1 });
  expect(names()).toEqual(["first", "none", "late"]);
});
