import { expect, test } from "vitest";
import { FairJobs } from "../../../src/access/authentication/fair-jobs.ts";

test("jobs run one at a time, those of each address in turn", async () => {
  const jobs = new FairJobs();
  const order: string[] = [];
  let running = 0;
  const job = (name: string) => async () => {
    expect(++running).toBe(1);
    await new Promise(setImmediate);
    order.push(name);
    running--;
  };
  const all = ["a1", "a2", "a3", "b1", "c1", "b2"].map((name) => jobs.run(name[0] as string, job(name)));
  await Promise.all(all);
  expect(order).toEqual(["a1", "a2", "b1", "c1", "a3", "b2"]);
  expect(await jobs.run("d", async () => "done")).toBe("done");
});

test("one that fails keeps no other waiting", async () => {
  const jobs = new FairJobs();
  const failing = jobs.run("a", () => Promise.reject(new Error("no")));
  await expect(Promise.all([failing, jobs.run("a", async () => 1)])).rejects.toThrow("no");
  expect(await jobs.run("a", async () => 2)).toBe(2);
});

test("more than wait for long are refused", async () => {
  const jobs = new FairJobs();
  const waiting = Array.from({ length: 256 }, (_, index) => jobs.run(String(index), async () => index));
  expect(() => jobs.run("late", async () => 0)).toThrow(expect.objectContaining({ code: "unavailable" }));
  expect(await Promise.all(waiting)).toHaveLength(256);
});
