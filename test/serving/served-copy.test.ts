import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { Executor } from "../../src/serving/executor.ts";
import { RETIRE_MS } from "../../src/serving/plan/residence.ts";
import type { Servable } from "../../src/serving/servable.ts";
import { ServedCopy } from "../../src/serving/served-copy.ts";
import { toTensors } from "../../src/tensor/plain-value.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { run } from "../helpers/run-pipeline.ts";
import { manage, pipelineVersion } from "./manage.ts";

const REQUEST = { kind: "tensors", tensors: toTensors({ x: 1 }) } as const;

/** A model whose first copy is changed by `change`, and its log. */
async function serve(change: (loaded: Servable) => Partial<Servable>, fails = () => false) {
  const { log, events } = createEventLog();
  const version = pipelineVersion(1n);
  let loads = 0;
  const load = async (signal: AbortSignal) => {
    if (loads > 0 && fails()) throw new Error("no file");
    const loaded = await version.load(signal);
    return loads++ === 0 ? { ...loaded, ...change(loaded) } : loaded;
  };
  const manager = await manage([{ name: "m", versions: [{ ...version, load }] }], { log });
  const copy = manager.catalog.get("m")?.current?.servable;
  const messages = (of: string) => events.filter(({ level }) => level === of).map(({ msg }) => msg);
  return { manager, copy: copy!, warnings: () => messages("warn"), errors: () => messages("error") };
}

it("loads at once for a load that needs it, also where another request waits for a place to load it", async () => {
  const manager = await manage([{ name: "idle", versions: [pipelineVersion(1n)] }], { loadThreads: 1 });
  const idle = manager.catalog.get("idle")?.current?.servable;
  await idle?.unload("for the test");
  const ask = (depth: number) => run(idle!, { kind: "tensors", tensors: toTensors({ x: 1 }) }, { limits: { depth } });
  const [begun, opened] = [createDeferred<void>(), createDeferred<void>()];
  const other = pipelineVersion(1n);
  const load = async (signal: AbortSignal) => {
    begun.resolve();
    await opened.promise;
    await ask(1);
    return other.load(signal);
  };
  const models = [
    { name: "idle", versions: [pipelineVersion(1n)] },
    { name: "caller", versions: [{ ...other, load }] },
  ];
  manager.aspire(models);
  await begun.promise;
  const waiting = ask(0);
  // The load that it begins waits for a place by then.
  await new Promise(setImmediate);
  expect(idle?.isLoaded).toBe(false);
  opened.resolve();
  await waiting;
  expect(await manager.settled()).toEqual([]);
  await manager.close();
});

it("is freed though its statistics cannot be had, and loaded again though it was not freed as it should", async () => {
  let closes = 0;
  const { manager, copy, warnings } = await serve((loaded) => ({
    statistics: () => Promise.reject(new Error("no count")),
    close: async () => {
      closes++;
      await loaded.close();
    },
  }));
  await copy.unload("for the test");
  expect([closes, copy.isLoaded]).toEqual([1, false]);
  expect(warnings()).toEqual(["a model was not unloaded as it should: no count"]);
  await run(copy, REQUEST);
  expect(copy.isLoaded).toBe(true);
  await manager.close();
});

it("is freed at the latest when it is given up, though its statistics never come", async () => {
  const freed = createDeferred<void>();
  const { manager, copy, warnings } = await serve((loaded) => ({
    statistics: () => new Promise(() => {}),
    close: async () => {
      freed.resolve();
      await loaded.close();
    },
  }));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const unloaded = copy.unload("for the test");
  await vi.advanceTimersByTimeAsync(RETIRE_MS + 1000);
  vi.useRealTimers();
  await Promise.all([unloaded, freed.promise]);
  expect(warnings()).toEqual(["a model still runs and keeps its memory"]);
  expect((await copy.statistics()).requests.succeeded.count).toBe(0);
  await run(copy, REQUEST);
  await manager.close();
});

it("refuses at its end who waits until its memory is given back", async () => {
  const opened = createDeferred<void>();
  const { manager, copy } = await serve((loaded) => ({ close: () => opened.promise.then(() => loaded.close()) }));
  void copy.unload("for the test");
  const waiting = run(copy, REQUEST);
  const closed = manager.close();
  await expect(waiting).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("cannot be loaded again"),
  });
  opened.resolve();
  await closed;
  await expect(run(copy, REQUEST)).rejects.toMatchObject({ code: "unavailable" });
});

describe("a listener that fails at a load on demand", () => {
  it("changes nothing: the request is answered, and the copy can be unloaded again", async () => {
    let isBroken = true;
    const { manager, copy, errors } = await serve(
      () => ({}),
      () => isBroken,
    );
    await copy.unload("for the test");
    await expect(run(copy, REQUEST)).rejects.toThrow("no file");
    isBroken = false;
    // What was broken is told to listeners once it loads.
    const stop = manager.onChange(() => {
      throw new Error("not listening");
    });
    await expect.poll(() => run(copy, REQUEST).catch(() => undefined), { timeout: 20_000 }).toBeDefined();
    expect(errors()).toContain("a model's change was not noted: not listening");
    stop();
    expect(copy).toMatchObject({ isLoaded: true, isIdle: true });
    await copy.unload("for the test");
    expect(copy.isLoaded).toBe(false);
    await run(copy, REQUEST);
    await manager.close();
  });

  it("leaves nobody waiting where the load fails, and nothing that cannot be closed", async () => {
    const { manager, copy, errors } = await serve(
      () => ({}),
      () => true,
    );
    await copy.unload("for the test");
    const stop = manager.onChange(() => {
      throw new Error("not listening");
    });
    await expect(run(copy, REQUEST)).rejects.toMatchObject({ code: "unavailable" });
    expect(errors()).toContain("a model's change was not noted: not listening");
    stop();
    await manager.close();
  });
});

it("gives its memory to a load that waits as soon as it is loaded, where its client has left meanwhile", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const log = createSilentLogger();
  const loading = { loadThreads: 1, modelMemoryBytes: 100, memoryCheck: false };
  const executor = new Executor({ loading, log, used: () => 0 });
  const [opened, source] = [createDeferred<void>(), pipelineVersion(1n)];
  const load = async (signal: AbortSignal): Promise<Servable> => {
    const share = await executor.memory.reserve({ what: "m", bytes: 60 });
    const servable = await source.load(signal);
    await opened.promise;
    await share.loaded(60);
    const close = () => servable.close().then(() => share.release());
    return { ...servable, memoryBytes: 60, close };
  };
  const limits = { version: 1n, timeoutMs: 0, retries: 0, maxPauseMs: 1000 };
  const copy = new ServedCopy(await source.load(new AbortController().signal), {
    policy: { executor } as never,
    ...{ log, use: () => ({ idleMs: 0, isCurrent: true, isPresent: true }), isNeeded: () => false },
    ...{ onLoad: () => {}, onFree: () => executor.memory.changed() },
    load: (order) => executor.load({ ...order, version: () => ({ ...source, load }), limits }),
  });
  await copy.unload("for the test");
  const client = new AbortController();
  const left = expect(run(copy, REQUEST, { signal: client.signal })).rejects.toMatchObject({ code: "cancelled" });
  await vi.advanceTimersByTimeAsync(10);
  const other = executor.memory.reserve({ what: "other", bytes: 50 });
  let hasRoom = false;
  void other.then(() => {
    hasRoom = true;
  });
  client.abort();
  await left;
  opened.resolve();
  await vi.advanceTimersByTimeAsync(100);
  expect([hasRoom, copy.isLoaded]).toEqual([true, false]);
  await copy.close();
});
