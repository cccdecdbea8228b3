import { readdirSync, readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { CancelSource } from "../../../src/platform/async/cancel-source.ts";
import { CodecPool } from "../../../src/platform/codec-host/codec-pool.ts";
import { defineJob } from "../../../src/platform/codec-host/job.ts";
import { MemoryBudget } from "../../../src/platform/limits/memory/memory-budget.ts";
import type { MemoryShare } from "../../../src/platform/limits/memory/memory-share.ts";
import { MessageArrival } from "../../../src/platform/limits/memory/message-arrival.ts";
import { parseKibernetikaJsonJob } from "../../../src/protocols/kibernetika/http-codec.ts";
import { countListeners } from "../../helpers/count-listeners.ts";

const NOTHING: ReadonlySet<ArrayBufferLike> = new Set();
const MAX_BYTES = 256 * 1024 * 1024;

function startPool(maxThreads = 1): CodecPool {
  const pool = new CodecPool({ maxThreads });
  onTestFinished(() => pool.close());
  return pool;
}

/** The original proxy's JSON with so many texts. */
function textsOf(count: number): Buffer {
  const data = Array.from({ length: count }, (_, index) => `"text ${index}"`).join();
  return Buffer.from(`{"inputs": {"x": {"dtype": "string", "data": [${data}]}}}`);
}

test("does a job in a thread, to which memory is transferred", async () => {
  const pool = startPool();
  const text = textsOf(20_000);
  const { inputs } = await pool.run(parseKibernetikaJsonJob, [text, MAX_BYTES], { transfer: new Set([text.buffer]) });
  expect(text.length).toBe(0);
  expect(inputs.x?.shape).toEqual([20_000]);
  expect(Buffer.from(inputs.x?.data[19_999] as Uint8Array).toString()).toBe("text 19999");
});

test("rejects with what the job throws, and goes on", async () => {
  const pool = startPool();
  const bad = pool.run(parseKibernetikaJsonJob, [Buffer.from("{]"), MAX_BYTES], { transfer: NOTHING });
  const good = pool.run(parseKibernetikaJsonJob, [textsOf(1), MAX_BYTES], { transfer: NOTHING });
  await expect(bad).rejects.toMatchObject({ code: "invalid_argument", message: /Missing a name/ });
  expect((await good).inputs.x?.shape).toEqual([1]);
});

test.skipIf(process.platform !== "linux" || getPriority() > 0)("leaves the cores to other threads first", async () => {
  const pool = startPool(2);
  const read = () => pool.run(parseKibernetikaJsonJob, [textsOf(1), MAX_BYTES], { transfer: NOTHING });
  await Promise.all([read(), read()]);
  const niceOf = (thread: string) =>
    readFileSync(`/proc/self/task/${thread}/stat`, "utf8").split(") ")[1]?.split(" ")[16];
  const nice = readdirSync("/proc/self/task").map(niceOf);
  expect(nice.filter((each) => each === "5")).toHaveLength(2);
  expect(getPriority()).toBeLessThan(5);
});

test("says which job a module does not have", async () => {
  const job = defineJob(
    new URL("../../../src/protocols/kibernetika/http-codec.ts", import.meta.url).href,
    "noJob",
    () => 1,
  );
  await expect(startPool().run(job, [], { transfer: NOTHING })).rejects.toMatchObject({ code: "internal" });
});

test("drops a job whose request is over, running or waiting, and does the next one", async () => {
  const pool = startPool();
  const gone = new DOMException("The client closed the connection.", "AbortError");
  const cancels = [new CancelSource(), new CancelSource()];
  const jobs = cancels.map((signal) =>
    pool.run(parseKibernetikaJsonJob, [textsOf(1_000_000), MAX_BYTES], { transfer: NOTHING, signal }),
  );
  const next = pool.run(parseKibernetikaJsonJob, [textsOf(2), MAX_BYTES], { transfer: NOTHING });
  for (const cancel of cancels) cancel.abort(gone);
  for (const job of jobs) await expect(job).rejects.toBe(gone);
  expect((await next).inputs.x?.shape).toEqual([2]);
  const late = pool.run(parseKibernetikaJsonJob, [textsOf(1), MAX_BYTES], { transfer: NOTHING, signal: cancels[0] });
  await expect(late).rejects.toBe(gone);
});

test("leaves nothing at a signal that outlives its jobs, as a stream's does", async () => {
  const pool = startPool();
  const stream = new CancelSource();
  const listeners = countListeners(stream);
  const bodies = [textsOf(1), Buffer.from("{]")];
  const jobs = bodies.map((body) =>
    pool.run(parseKibernetikaJsonJob, [body, MAX_BYTES], { transfer: NOTHING, signal: stream }),
  );
  expect(listeners.size).toBe(2);
  await Promise.allSettled(jobs);
  expect(listeners.size).toBe(0);
});

test("counts what a job may make while it runs, and lets a second one wait that does not fit", async () => {
  const pool = startPool(2);
  const budget = new MemoryBudget(1000);
  const shares = [budget.open(), budget.open()] as const;
  const order: string[] = [];
  const run = (name: string, share: (typeof shares)[number], count: number) =>
    pool
      .run(parseKibernetikaJsonJob, [textsOf(count), MAX_BYTES], {
        transfer: NOTHING,
        memory: share,
        scratchBytes: 600,
      })
      .then(() => order.push(name));
  const first = run("large", shares[0], 300_000);
  const second = run("small", shares[1], 1);
  expect(() => budget.open().grow(500)).toThrow(/hold 600 bytes/);
  await Promise.all([first, second]);
  expect(order).toEqual(["large", "small"]);
  const other = budget.open();
  other.grow(1);
  expect(() => shares[0].check(900)).not.toThrow();
});

test("does small jobs beside large ones, and the large ones of clients in turn", async () => {
  const pool = startPool();
  const [many, few] = [new MemoryBudget(1e9).open(), new MemoryBudget(1e9).open()];
  const order: string[] = [];
  const run = async (name: string, memory: MemoryShare, count: number) => {
    await pool.run(parseKibernetikaJsonJob, [textsOf(count), MAX_BYTES], { transfer: NOTHING, memory });
    order.push(name);
  };
  const jobs = ["a1", "a2", "a3"].map((name) => run(name, many, 300_000));
  jobs.push(run("b", few, 300_000), run("small", many, 1));
  await Promise.all(jobs);
  expect(order.filter((name) => name !== "small")).toEqual(["a1", "b", "a2", "a3"]);
  expect(order.indexOf("small")).toBeLessThan(2);
});

test("does a large job though small ones never end", async () => {
  const pool = startPool();
  let isDone = false;
  const run = (count: number) => pool.run(parseKibernetikaJsonJob, [textsOf(count), MAX_BYTES], { transfer: NOTHING });
  const flood = async () => {
    while (!isDone) await run(10_000);
  };
  const floods = Array.from({ length: 8 }, flood);
  await run(200_000);
  isDone = true;
  await Promise.all(floods);
});

test("ends no other request where a job waits for memory", async () => {
  const pool = startPool(2);
  const budget = new MemoryBudget(1000);
  const [one, other, arriving] = [budget.open(0, "a"), budget.open(0, "b"), budget.open(0, "c")];
  let ended = 0;
  new MessageArrival(arriving, () => ended++).add(600);
  const options = (memory: MemoryShare) => ({ transfer: NOTHING, memory, scratchBytes: 500 });
  await Promise.all(
    [one, other].map((memory) => pool.run(parseKibernetikaJsonJob, [textsOf(1), MAX_BYTES], options(memory))),
  );
  expect([ended, arriving.bytes]).toEqual([0, 600]);
});
