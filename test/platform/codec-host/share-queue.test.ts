import { expect, test } from "vitest";
import { ShareClock, ShareQueue } from "../../../src/platform/codec-host/share-queue.ts";

const MB = 1024 * 1024;

function takeAll(queue: ShareQueue<string>): string[] {
  const taken: string[] = [];
  for (let next = queue.peek(); next !== undefined; next = queue.peek()) {
    queue.shift();
    taken.push(next);
  }
  return taken;
}

test("gives each client the same number of bytes, whatever the size of its jobs", () => {
  const queue = new ShareQueue<string>();
  const [many, few] = [{}, {}];
  for (const name of ["a1", "a2", "a3", "a4"]) queue.push(name, { cost: 30 * MB, client: many });
  for (const name of ["b1", "b2", "b3"]) queue.push(name, { cost: 10 * MB, client: few });
  expect(takeAll(queue)).toEqual(["a1", "b1", "b2", "b3", "a2", "a3", "a4"]);
  expect(queue.isEmpty).toBe(true);
});

test("keeps no account of the time in which a client had nothing to do", () => {
  const queue = new ShareQueue<string>();
  const [busy, quiet] = [{}, {}];
  for (let job = 0; job < 10; job++) queue.push("busy", { cost: MB, client: busy });
  takeAll(queue);
  for (const name of ["q1", "q2", "q3"]) queue.push(name, { cost: MB, client: quiet });
  for (const name of ["b1", "b2", "b3"]) queue.push(name, { cost: MB, client: busy });
  expect(takeAll(queue)).toEqual(["q1", "q2", "b1", "q3", "b2", "b3"]);
});

test("takes a client's small jobs before its large ones, which small ones overtake for a while only", async () => {
  const queue = new ShareQueue<string>();
  queue.push("large", { cost: 30 * MB });
  queue.push("small", { cost: MB / 8 });
  expect(takeAll(queue)).toEqual(["small", "large"]);
  queue.push("old", { cost: MB / 2 });
  const since = performance.now();
  while (performance.now() - since < 20);
  queue.push("new", { cost: 0 });
  expect(takeAll(queue)).toEqual(["old", "new"]);
});

test("forgets a job that is removed", () => {
  const queue = new ShareQueue<string>();
  for (const name of ["a", "b", "c"]) queue.push(name, { cost: MB });
  queue.remove("b");
  queue.remove("none");
  expect(takeAll(queue)).toEqual(["a", "c"]);
});

test("counts what a client gets from another queue, so that both give it one share", () => {
  const clock = new ShareClock();
  const [small, large] = [new ShareQueue<string>(clock), new ShareQueue<string>(clock)];
  const [flood, other] = [{}, {}];
  for (let job = 0; job < 40; job++) small.push("small", { cost: MB, client: flood });
  for (const name of ["l1", "l2", "l3"]) large.push(name, { cost: 10 * MB, client: other });
  const order: string[] = [];
  while (!large.isEmpty) {
    const next = small.nextStart <= large.nextStart ? small : large;
    order.push(next.peek() as string);
    next.shift();
  }
  const before = (name: string) => order.slice(0, order.indexOf(name)).filter((each) => each === "small").length;
  expect(["l1", "l2", "l3"].map(before)).toEqual([1, 11, 21]);
  expect([small, large].map(({ nextStart }) => nextStart)).toEqual([21 * MB, Number.POSITIVE_INFINITY]);
});

test("a client that begins to wait starts with those that had least, though another was served ahead of them", () => {
  const clock = new ShareClock();
  const [small, large] = [new ShareQueue<string>(clock), new ShareQueue<string>(clock)];
  const [flood, other, late] = [{}, {}, {}];
  for (let job = 0; job < 40; job++) small.push("small", { cost: MB, client: flood });
  large.push("large", { cost: 10 * MB, client: other });
  for (let job = 0; job < 20; job++) small.shift();
  small.push("late", { cost: MB, client: late });
  expect(small.peek()).toBe("late");
  expect(large.nextStart).toBe(0);
});
