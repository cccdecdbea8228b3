import { expect, test } from "vitest";
import { createDeferred, inOrder, TurnsByName } from "../../../src/platform/async/promises.ts";

test("results come in the order of the work, whichever is ready first", async () => {
  const second = createDeferred<string>();
  const first = createDeferred<string>();
  const results = inOrder([first, second], ({ promise }) => promise, 2);
  const taken = results.next();
  second.resolve("b");
  first.resolve("a");
  expect((await taken).value).toBe("a");
  expect((await results.next()).value).toBe("b");
  expect((await results.next()).done).toBe(true);
});

test("no more work is begun than is taken", async () => {
  const begun: number[] = [];
  const results = inOrder(Array.from({ length: 9 }).keys(), async (each) => begun.push(each), 3);
  expect(begun).toEqual([]);
  await results.next();
  expect(begun).toEqual([0, 1, 2]);
  await results.next();
  expect(begun).toEqual([0, 1, 2, 3]);
});

test("an error comes when it is its turn, and ends the results", async () => {
  const work = [async () => "good", () => Promise.reject(new Error("bad")), async () => "never taken"];
  const results = inOrder(work, (each) => each(), 3);
  expect((await results.next()).value).toBe("good");
  await expect(results.next()).rejects.toThrow("bad");
  expect((await results.next()).done).toBe(true);
});

test("steps of one name wait for each other, also for one that fails, and for no other name's", async () => {
  const turns = new TurnsByName();
  const held = createDeferred<void>();
  const order: string[] = [];
  const first = turns.run("a", () => held.promise.then(() => order.push("a1")));
  const second = turns.run("a", async () => {
    order.push("a2");
    throw new Error("as asked");
  });
  const third = turns.run("a", async () => order.push("a3"));
  await turns.run("b", async () => order.push("b1"));
  held.resolve();
  await Promise.all([first, expect(second).rejects.toThrow("as asked"), third]);
  expect(order).toEqual(["b1", "a1", "a2", "a3"]);
});
