import { expect, test } from "vitest";
import { createDeferred } from "../../src/async/deferred.ts";
import { TurnsByName } from "../../src/async/turns-by-name.ts";

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
