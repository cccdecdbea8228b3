import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import type { NamedModelOptions } from "../../src/server/named-model.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";
const IDLE_MS = 30;

/** A pipeline whose loads are counted; each after the first does what it is told. */
function watchedModel(onLoad: (load: number) => Promise<void> | void = () => {}, hooks: Partial<Hooks> = {}) {
  const counted = { loads: 0, closes: 0 };
  const init_hook = async () => {
    counted.loads++;
    if (counted.loads > 1) await onLoad(counted.loads);
  };
  const close_hook = () => void counted.closes++;
  const options: NamedModelOptions = { driver: "null", hooks: { init_hook, close_hook, ...hooks } };
  return { counted, options };
}

/** A server of models that are unloaded after a moment, and how to ask it. */
async function serve(models: Readonly<Record<string, NamedModelOptions>>, idleUnloadMs = IDLE_MS) {
  const { log, events, find } = createEventLog();
  const server = await startServer({ models, idleUnloadMs, log });
  const get = (path: string) => fetch(`${server.httpUrl}${path}`);
  const ask = async (model = "m", init: RequestInit = {}) => {
    const body = '{"inputs": {"x": [2.5]}}';
    const answer = await fetch(`${server.httpUrl}/v1/models/${model}:predict`, { method: "POST", body, ...init });
    return [answer.status, await answer.text()] as const;
  };
  const unloaded = (model = "m") => find({ msg: "model unloaded", model });
  const waiting = (count: number) =>
    expect.poll(() => server.inFlight().length, { timeout: 20_000, interval: 5 }).toBe(count);
  const count = (msg: string) => events.filter((event) => event.msg === msg).length;
  return { server, get, ask, unloaded, waiting, find, count };
}

describe("a model without requests", () => {
  it("is unloaded, stays available on every wire, and answers the next request", async () => {
    const { get, ask, unloaded, count, server } = await serve({ m: { path: HALF } });
    await unloaded();
    expect((await get("/v2/models/m/ready")).status).toBe(200);
    expect((await get("/v2/health/ready")).status).toBe(200);
    expect(await (await get("/v1/models/m")).json()).toMatchObject({
      model_version_status: [{ version: "1", state: "AVAILABLE", status: { error_code: "OK" } }],
    });
    expect(await (await get("/v2/models/m")).json()).toMatchObject({ inputs: [{ name: "x" }] });
    expect(server.models()).toMatchObject([{ state: "AVAILABLE", generation: 1 }]);
    expect(count("model loaded on demand")).toBe(0);
    const [status, text] = await ask();
    expect([status, JSON.parse(text)]).toEqual([200, { outputs: [3.25] }]);
    expect(count("model loaded on demand")).toBe(1);
  });

  it("keeps its statistics", async () => {
    const { get, ask, count } = await serve({ m: { path: HALF } });
    for (const unloads of [1, 2]) {
      await ask();
      await expect.poll(() => count("model unloaded"), { timeout: 20_000 }).toBeGreaterThanOrEqual(unloads);
    }
    const { model_stats: stats } = (await (await get("/v2/models/m/stats")).json()) as { model_stats: object[] };
    expect(stats).toMatchObject([
      { inference_count: 2, execution_count: 2, inference_stats: { success: { count: 2 } } },
    ]);
  });

  it("has its statistics while it is not freed yet, and delays those of no other model", async () => {
    const [closing, stuck] = [createDeferred<void>(), createDeferred<void>()];
    let isUsed = false;
    const { options } = watchedModel(undefined, {
      process: (inputs) => {
        isUsed = true;
        return inputs;
      },
      // A slow start may be followed by an unloading before the request, which would wait for that.
      close_hook: () => {
        if (!isUsed) return;
        closing.resolve();
        return stuck.promise;
      },
    });
    const { get, ask } = await serve({ m: options, other: { driver: "null" } });
    await ask();
    await closing.promise;
    const { model_stats: stats } = (await (await get("/v2/models/stats")).json()) as { model_stats: object[] };
    expect(stats).toMatchObject([{ name: "m", inference_stats: { success: { count: 1 } } }, { name: "other" }]);
    stuck.resolve();
  });

  it("keeps its own time before the server's", async () => {
    const { unloaded, count } = await serve({ m: { path: HALF, idleUnloadMs: IDLE_MS }, n: { path: HALF } }, 0);
    await unloaded("m");
    expect(count("model unloaded")).toBe(1);
  });

  it("is not unloaded while a request runs", async () => {
    const released = createDeferred<void>();
    const busy = watchedModel(undefined, { process: async (inputs) => released.promise.then(() => inputs) });
    const { ask, unloaded, waiting, count } = await serve({ m: busy.options, clock: { driver: "null" } });
    await unloaded();
    const answer = ask();
    await waiting(1);
    // Before the question: a busy machine may unload it again before this thread has the answer.
    const before = count("model unloaded");
    await ask("clock");
    await expect.poll(() => count("model unloaded"), { timeout: 20_000 }).toBeGreaterThan(before);
    expect(busy.counted).toEqual({ loads: 2, closes: 1 });
    released.resolve();
    expect((await answer)[0]).toBe(200);
  });
});

describe("a load on demand", () => {
  it("is one for 50 requests at once", async () => {
    const { options, counted } = watchedModel();
    const { ask, unloaded, count } = await serve({ m: options }, 1000);
    await unloaded();
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask()));
    expect(new Set(answers.map(([status]) => status))).toEqual(new Set([200]));
    expect([counted.loads, count("model loaded on demand")]).toEqual([2, 1]);
  });

  it("that fails answers all who wait with its reason, and is tried again", async () => {
    const { options, counted } = watchedModel((load) => {
      if (load === 2) throw new Error("no room left in the shed");
    });
    const { ask, unloaded, server } = await serve({ m: options });
    await unloaded();
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask()));
    for (const [status, text] of answers) {
      expect([status, text]).toEqual([503, expect.stringContaining("no room left in the shed")]);
      expect(text).toContain("Version 1 of the model m was unloaded while it was idle, and cannot be loaded again");
    }
    expect(counted.loads).toBe(2);
    expect(server.models()).toMatchObject([{ state: "AVAILABLE", error: { code: "unavailable" } }]);
    await expect.poll(async () => (await ask())[0], { timeout: 20_000 }).toBe(200);
    expect(server.models()[0]?.error).toBeUndefined();
  });

  it("reports missing files, without their path, until they exist again", async () => {
    const folder = tempFolder();
    const path = join(folder, "half.onnx");
    cpSync(HALF, path);
    const { ask, unloaded } = await serve({ m: { path } });
    await unloaded();
    rmSync(path);
    const [status, text] = await ask();
    expect(status).toBe(503);
    expect(text).toContain("cannot be loaded again");
    expect(text).not.toContain(folder);
    cpSync(HALF, path);
    await expect.poll(async () => (await ask())[0], { timeout: 20_000 }).toBe(200);
  });

  it("goes on when a client leaves, keeps others waiting in their queue alone, and slows no other model", async () => {
    const released = createDeferred<void>();
    const { options, counted } = watchedModel(() => released.promise);
    const { ask, unloaded, waiting } = await serve({ m: { ...options, maxQueue: 2 }, other: { driver: "null" } });
    await unloaded();
    const leaving = new AbortController();
    const left = ask("m", { signal: leaving.signal }).catch((reason: Error) => reason.name);
    const staying = ask();
    await waiting(2);
    expect(await ask()).toEqual([503, expect.stringContaining("2 requests under way already (its maxQueue)")]);
    expect((await ask("other"))[0]).toBe(200);
    leaving.abort();
    expect(await left).toBe("AbortError");
    await waiting(1);
    released.resolve();
    expect((await staying)[0]).toBe(200);
    expect(counted.loads).toBe(2);
  });

  it("is waited for no longer than a request may wait", async () => {
    const released = createDeferred<void>();
    const { options } = watchedModel(() => released.promise);
    const { server, unloaded } = await serve({ m: options });
    await unloaded();
    const inputs = [{ name: "x", datatype: "FP32", shape: [1], data: [1] }];
    const body = JSON.stringify({ inputs, parameters: { timeout: 20_000 } });
    const late = await fetch(`${server.httpUrl}/v2/models/m/infer`, { method: "POST", body });
    expect([late.status, await late.text()]).toEqual([
      503,
      expect.stringContaining("waited 20 ms for its model to load"),
    ]);
    released.resolve();
  });

  it("does not outlive the server", async () => {
    const released = createDeferred<void>();
    const { options, counted } = watchedModel(() => released.promise);
    const { server, ask, unloaded, waiting } = await serve({ m: options });
    await unloaded();
    const answer = ask();
    await waiting(1);
    const closed = server.close();
    released.resolve();
    expect((await answer)[0]).toBe(200);
    await closed;
    expect(counted).toEqual({ loads: 2, closes: 2 });
  });
});
