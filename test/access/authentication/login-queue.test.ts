import { expect, test } from "vitest";
import { LoginQueue } from "../../../src/access/authentication/passwords.ts";

/** Runs jobs that were given at once; resolves with their names in the order in which they ran. */
async function orderOf(jobs: readonly (readonly [name: string, attempts: number])[]): Promise<string[]> {
  const queue = new LoginQueue();
  const order: string[] = [];
  let running = 0;
  const job = (name: string) => async () => {
    expect(++running).toBe(1);
    await new Promise(setImmediate);
    order.push(name);
    running--;
  };
  await Promise.allSettled(jobs.map(([name, attempts]) => queue.run(attempts, job(name))));
  return order;
}

test("jobs run one at a time, those of quiet clients before others, and the newest of them first", async () => {
  const jobs = [
    ["first", 3],
    ["a", 2],
    ["b", 1],
    ["quiet", 0],
    ["c", 1],
    ["late", 0],
  ] as const;
  expect(await orderOf(jobs)).toEqual(["first", "late", "quiet", "c", "b", "a"]);
});

test("one that fails keeps no other waiting", async () => {
  const queue = new LoginQueue();
  const failing = queue.run(0, () => Promise.reject(new Error("no")));
  await expect(Promise.all([failing, queue.run(0, async () => 1)])).rejects.toThrow("no");
  expect(await queue.run(0, async () => 2)).toBe(2);
});

test("where too many wait, the oldest of those with the most attempts are dropped", async () => {
  const all = Array.from({ length: 400 }, (_, index) => [`${index}`, index < 200 ? 5 : 0] as const);
  const order = await orderOf(all);
  // The one that runs does not wait.
  expect(order).toHaveLength(257);
  expect(order.filter((name) => Number(name) >= 200)).toHaveLength(200);
  expect(order).toContain("199");
  expect(order).not.toContain("1");
});

test("what is dropped is told to try again", async () => {
  const queue = new LoginQueue();
  const all = Array.from({ length: 300 }, (_, index) => queue.run(index, async () => index));
  const settled = await Promise.allSettled(all);
  expect(settled.at(-1)).toMatchObject({ reason: { code: "unavailable" } });
});

test("a server that ends waits for the one that runs alone", async () => {
  const queue = new LoginQueue();
  const all = [0, 1, 2].map((name) => queue.run(0, async () => name));
  queue.clear();
  const settled = await Promise.allSettled(all);
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  expect(await queue.run(0, async () => "next")).toBe("next");
});
