import { expect, test } from "vitest";
import { ShareQueue } from "../../src/codec-host/share-queue.ts";

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
