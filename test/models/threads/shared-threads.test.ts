import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { findDriver } from "../../../src/drivers/registry.ts";
import type { ModelHost } from "../../../src/models/model-host.ts";
import { startModel } from "../../../src/models/start-model.ts";
import { createModelClient } from "../../../src/models/threads/model-client.ts";
import { SharedThreads } from "../../../src/models/threads/shared-threads.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { CancelSource } from "../../../src/platform/async/cancel-source.ts";
import { toHostPort } from "../../../src/platform/threads/host-port.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const POLL = { timeout: 20_000, interval: 10 };
/**
 * Answers its thread's number; ends it for -1; for -2 writes the file `mark`, and blocks it until that is gone again.
 * For -3 it writes `mark-begun` and waits a while. It does not load with the option `broken`.
 */
const DRIVER = `
import { existsSync, writeFileSync } from "node:fs";
import { threadId } from "node:worker_threads";
import { defineDriver } from "kserving";
export default defineDriver({
  name: "small",
  options: { broken: { type: "boolean", default: false }, mark: { type: "string", default: "" } },
  pathless: true,
  sharesThread: true,
  load: async (_, { broken, mark }, host) => {
    if (broken) throw new Error("no memory");
    return {
      signatures: { serving_default: {} },
      predict: async ({ x }) => {
        const [value] = x.data;
        if (value === -1) process.exit(1);
        if (value === -2) writeFileSync(mark, "");
        if (value === -3) {
          writeFileSync(mark + "-begun", "");
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        const never = new Int32Array(new SharedArrayBuffer(4));
        while (value === -2 && existsSync(mark)) Atomics.wait(never, 0, 0, 10);
        return { thread: { dtype: "int32", shape: [2], data: Int32Array.of(threadId, host.threads) } };
      },
      close: async () => {},
    };
  },
});`;

async function findSmall() {
  const found = await findDriver(join(tempFolder({ "small.ts": DRIVER }), "small.ts"));
  onTestFinished(() => found.dispose());
  return found;
}

interface StartOptions {
  readonly count: number;
  readonly threads: number;
  readonly stallMs?: number;
  readonly spareMs?: number;
}

/** So many models in threads that they share, and how to ask them. */
async function start({ count, threads, stallMs = 0, spareMs = 60_000 }: StartOptions) {
  const found = await findSmall();
  const mark = join(tempFolder(), "blocked");
  const { log, find } = createEventLog();
  const options = { instances: 1, modelStallMs: stallMs, log, sharedThreads: new SharedThreads(threads, spareMs) };
  onTestFinished(() => options.sharedThreads.close());
  const startOne = (raw: Record<string, string> = {}, fileBytes = 0) =>
    startModel({ found, path: "", options: { mark, ...raw }, fileBytes }, options);
  const models: ModelHost[] = [];
  for (let number = 0; number < count; number++) models.push(await startOne());
  onTestFinished(() => Promise.all(models.map((model) => model.close().catch(() => {}))).then(() => {}));
  /** Resolves once a model blocks its thread. */
  const blocked = () => expect.poll(() => existsSync(mark), POLL).toBe(true);
  const unblock = () => rmSync(mark);
  const begun = () => expect.poll(() => existsSync(`${mark}-begun`), POLL).toBe(true);
  return { models, sharedThreads: options.sharedThreads, startOne, find, begun, blocked, unblock };
}

const signal = new CancelSource();

async function ask({ handle }: ModelHost, value = 1): Promise<number> {
  const x = createTensor("float32", [1], Float32Array.of(value));
  const { thread } = await handle.predict({ x }, { signature: "serving_default", signal, transfer: true });
  return Number(thread?.data[0]);
}

const LOST = { code: "unavailable", message: expect.stringContaining("the model's thread has ended") };

describe("small models", () => {
  test("have threads of their own while there are enough, then share them", async () => {
    const { models, startOne } = await start({ count: 5, threads: 2 });
    const threads = await Promise.all(models.map((model) => ask(model)));
    const [a, b] = threads as [number, number];
    expect(a).not.toBe(b);
    expect(threads).toEqual([a, b, a, b, a]);
    const large = await startOne({}, 2 ** 30);
    onTestFinished(() => large.close());
    expect(threads).not.toContain(await ask(large));
  });

  test("are freed one by one, and their thread ends a while after the last", async () => {
    const { models, startOne } = await start({ count: 2, threads: 1, spareMs: 0 });
    const [a, b] = models as [ModelHost, ModelHost];
    const before = await ask(a);
    await a.close();
    await expect(ask(a)).rejects.toMatchObject({ code: "unavailable" });
    expect(await ask(b)).toBe(before);
    await b.close();
    const threadOfNext = async () => {
      const next = await startOne();
      return ask(next).finally(() => next.close());
    };
    await expect.poll(threadOfNext, POLL).not.toBe(before);
  });

  test("take the thread that another has left, as a new version does, until all end", async () => {
    const { models, startOne, sharedThreads } = await start({ count: 2, threads: 2 });
    const [a, b] = models as [ModelHost, ModelHost];
    const left = await ask(a);
    await a.close();
    const next = await startOne();
    expect(await ask(next)).toBe(left);
    await b.close();
    await next.close();
    const again = await startOne();
    expect(await ask(again)).toBe(left);
    await again.close();
    await sharedThreads.close();
    const last = await startOne();
    onTestFinished(() => last.close());
    expect(await ask(last)).not.toBe(left);
  });

  test("have a thread ready for the next one, where that would start one", async () => {
    let started = 0;
    const count = () => void started++;
    process.on("worker", count);
    onTestFinished(() => void process.off("worker", count));
    const { models, startOne, sharedThreads } = await start({ count: 1, threads: 2 });
    await Promise.all([sharedThreads.prepare(), sharedThreads.prepare()]);
    const next = await startOne();
    onTestFinished(() => next.close());
    expect(await ask(next)).not.toBe(await ask(models[0]!));
    await sharedThreads.prepare();
    await nextTurn();
    expect(started).toBe(2);
  });

  test("are waited for by a model that comes while the next one is made ready", async () => {
    const { models, startOne, sharedThreads } = await start({ count: 1, threads: 2 });
    void sharedThreads.prepare();
    const next = await startOne();
    onTestFinished(() => next.close());
    expect(await ask(next)).not.toBe(await ask(models[0]!));
  });

  test("leave no thread that was being made ready when all ended", async () => {
    const { models, sharedThreads } = await start({ count: 1, threads: 2 });
    let open = 0;
    const watch = (worker: Worker) => {
      open++;
      worker.once("exit", () => open--);
    };
    process.on("worker", watch);
    onTestFinished(() => void process.off("worker", watch));
    const prepared = sharedThreads.prepare();
    await Promise.all(models.map((model) => model.close()));
    await sharedThreads.close();
    await prepared;
    await expect.poll(() => open, POLL).toBe(0);
  });

  test("go on where another one does not load in their thread", async () => {
    const { models, startOne } = await start({ count: 1, threads: 1 });
    await expect(startOne({ broken: "true" })).rejects.toThrow("no memory");
    await ask(models[0] as ModelHost);
  });
});

describe("a model that blocks the thread it shares", () => {
  test("does not hold back the answer that the model before it gave", async () => {
    const { models, begun, unblock, blocked } = await start({ count: 2, threads: 1 });
    const [before, blocking] = models as [ModelHost, ModelHost];
    const answer = ask(before, -3);
    // Each model has a port of its own: messages at two of them come in any order.
    await begun();
    const last = ask(blocking, -2);
    await blocked();
    await answer;
    unblock();
    await last;
  });

  test("loses its own requests alone: the others move to another thread with theirs", async () => {
    const { models, find, blocked } = await start({ count: 3, threads: 1, stallMs: 300 });
    const [stuck, ...others] = models as [ModelHost, ModelHost, ModelHost];
    const before = await ask(stuck);
    const lost = expect(ask(stuck, -2)).rejects.toMatchObject(LOST);
    await blocked();
    const waiting = others.flatMap((other) => [ask(other), ask(other)]);
    const answers = await Promise.all(waiting);
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).not.toBe(before);
    await lost;
    await expect.poll(() => stuck.isReady(), POLL).toBe(true);
    expect([before, answers[0]]).not.toContain(await ask(stuck));
    await find({ level: "error", msg: "a model's thread has hung for 300 ms and is replaced" });
    await find({
      level: "warn",
      msg: "a model moves to another thread: its own has hung for 300 ms in another model",
    });
    for (const other of others) await other.close();
    await expect(stuck.close()).rejects.toMatchObject({ code: "deadline_exceeded" });
  });

  test("loses no requests that others have asked on ports of their own, as hook threads do", async () => {
    const { models, blocked } = await start({ count: 2, threads: 1, stallMs: 300 });
    const [stuck, other] = models as [ModelHost, ModelHost];
    const onMalformed = () => {};
    const ports = other.connect(onMalformed).map((port) => toHostPort(port));
    const client = createModelClient({ facts: other.facts, hookArgs: other.hookArgs, ports });
    other.onReconnect((instance, port, resend) => client.reconnect(instance, toHostPort(port), resend), onMalformed);
    const before = await ask({ ...other, handle: client });
    const lost = expect(ask(stuck, -2)).rejects.toMatchObject(LOST);
    await blocked();
    expect(await ask({ ...other, handle: client })).not.toBe(before);
    await lost;
    await client.close();
  });
});

test("a thread that ends under several models is replaced for each of them", async () => {
  const { models } = await start({ count: 2, threads: 1 });
  const [a, b] = models as [ModelHost, ModelHost];
  await expect(ask(a, -1)).rejects.toMatchObject(LOST);
  const answer = (model: ModelHost) => ask(model).catch(() => 0);
  for (const model of [a, b]) await expect.poll(() => answer(model), POLL).toBeGreaterThan(0);
  expect(await ask(a)).not.toBe(await ask(b));
});

test("50 ONNX models run in two threads, with no threads of their runtime beyond those of the first two", async () => {
  const found = await findDriver("onnx");
  const options = {
    instances: 1,
    modelStallMs: 0,
    log: createSilentLogger(),
    sharedThreads: new SharedThreads(2),
  };
  const path = "test/fixtures/models/half-plus-two.onnx";
  const startOne = () => startModel({ found, path, options: {}, fileBytes: statSync(path).size }, options);
  const models = [await startOne(), await startOne()];
  const threads = () => (process.platform === "linux" ? readdirSync("/proc/self/task").length : 0);
  const before = threads();
  models.push(...(await Promise.all(Array.from({ length: 48 }, startOne))));
  onTestFinished(() => Promise.all(models.map((model) => model.close())).then(() => {}));
  expect(threads()).toBeLessThan(before + 10);
  const answers = await Promise.all(
    models.map(async ({ handle }, number) => {
      const x = createTensor("float32", [1], Float32Array.of(number));
      return (await handle.predict({ x }, { signature: "serving_default", signal, transfer: true })).y?.data[0];
    }),
  );
  expect(answers).toEqual(models.map((_, number) => number / 2 + 2));
});
