import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { createServer } from "../../src/server/server.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** A server without ports whose model counts, and then waits until its request has ended. */
async function counting(parts: number) {
  const seen = { asked: 0, left: 0 };
  const hooks: Hooks = {
    async *process(_, ctx) {
      try {
        for (seen.asked = 1; seen.asked <= parts; seen.asked++) yield { number: seen.asked };
        await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
      } finally {
        seen.left++;
      }
    },
  };
  const server = await createServer({ listen: false, models: { count: { driver: "null", hooks } } });
  onTestFinished(() => server.close());
  return { server, seen };
}

test("a program gets the parts of an answer as they come, and leaving the loop ends the request", async () => {
  const { server, seen } = await counting(1000);
  const numbers: unknown[] = [];
  for await (const { number } of server.stream("count", {})) {
    numbers.push(number?.data[0]);
    if (numbers.length === 3) break;
  }
  expect(numbers).toEqual([1, 2, 3]);
  await expect.poll(() => seen.left).toBe(1);
  expect(seen.asked).toBeLessThan(6);
});

test("the only answer of a model that answers once is the only part", async () => {
  const server = await createServer({ listen: false, models: { echo: { driver: "null" } } });
  onTestFinished(() => server.close());
  const parts: unknown[] = [];
  for await (const { x } of server.stream("echo", { x: Int32Array.of(5) })) parts.push(x?.data[0]);
  expect(parts).toEqual([5]);
});

test("the time of a stream ends it, also while garbage is collected", async () => {
  const { server, seen } = await counting(1);
  const collecting = setInterval(collectGarbage, 10);
  onTestFinished(() => clearInterval(collecting));
  const read = async () => {
    for await (const part of server.stream("count", {}, { timeoutMs: 100 })) expect(part.number?.data[0]).toBe(1);
  };
  await expect(read()).rejects.toMatchObject({ code: "deadline_exceeded" });
  await expect.poll(() => seen.left).toBe(1);
});
