import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { Executor } from "../../src/serving/executor.ts";
import type { LoadOrder } from "../../src/serving/load-run.ts";
import type { LoadAction } from "../../src/serving/plan/loads.ts";
import type { Servable } from "../../src/serving/servable.ts";

const NEVER = new AbortController().signal;
const LIMITS = { version: 1n, timeoutMs: 0, retries: 0, maxPauseMs: 1 };
const loaded = { name: "m" } as Servable;

/** Loads over one place. */
function oneByOne() {
  const loading = { loadThreads: 1, modelMemoryBytes: 0, memoryCheck: false };
  const executor = new Executor({ loading, log: createSilentLogger() });
  const begin = (load: (signal: AbortSignal) => Promise<Servable>, more: Partial<LoadOrder> = {}) =>
    executor.load({ version: () => ({ version: 1n, fingerprint: "1", load }), limits: LIMITS, signal: NEVER, ...more });
  const order = (...given: Parameters<typeof begin>) => begin(...given).result;
  return { begin, order };
}

describe("loads over one place", () => {
  it("begin in their order, also after one that fails, and none before the change that asks for them is whole", async () => {
    const { order } = oneByOne();
    const begun: number[] = [];
    const first = createDeferred<Servable>();
    const load = (number: number) => async () => {
      begun.push(number);
      return number === 1 ? first.promise : loaded;
    };
    const results = [order(load(1)), order(load(2)), order(load(3))];
    expect(begun).toEqual([]);
    await Promise.resolve();
    expect(begun).toEqual([1]);
    first.reject(new Error("no file"));
    const ends = await Promise.allSettled(results);
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
    expect(begun).toEqual([1, 2, 3]);
  });

  it("make Node.js warn of nothing while many wait, and leave no listener behind", async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on("warning", note);
    const { order } = oneByOne();
    const { signal } = new AbortController();
    for (let count = 0; count < 20; count++) await order(async () => loaded, { signal });
    await Promise.all(
      Array.from({ length: 20 }, () => order(async () => loaded, { signal: new AbortController().signal })),
    );
    await new Promise(setImmediate);
    process.off("warning", note);
    expect(warnings).toEqual([]);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("pass the place of one that nobody wants any more to the next, and take none for one that comes too late", async () => {
    const { order } = oneByOne();
    const first = createDeferred<Servable>();
    const gone = new AbortController();
    const held = order(() => first.promise);
    const waiting = order(async () => loaded, { signal: gone.signal });
    const next = order(async () => loaded);
    gone.abort(new Error("not wanted any more"));
    await expect(waiting).rejects.toThrow("not wanted any more");
    await expect(order(async () => loaded, { signal: gone.signal })).rejects.toThrow("not wanted any more");
    first.resolve(loaded);
    expect([await held, await next]).toEqual([loaded, loaded]);
  });

  it("keep it while one that is given up ends, and close what it has loaded all the same", async () => {
    const { order } = oneByOne();
    const [first, gone] = [createDeferred<Servable>(), new AbortController()];
    const steps: string[] = [];
    const held = order(() => first.promise, { signal: gone.signal });
    await Promise.resolve();
    gone.abort(new Error("given up"));
    const next = order(async () => {
      steps.push("next");
      return loaded;
    });
    await new Promise(setImmediate);
    first.resolve({ ...loaded, close: async () => void steps.push("closed") });
    await expect(held).rejects.toThrow("given up");
    await next;
    expect(steps).toEqual(["closed", "next"]);
  });

  it("are left to others by one that another load waits for", async () => {
    const { begin, order } = oneByOne();
    const first = createDeferred<Servable>();
    const held = order(() => first.promise);
    const waiting = begin(async () => loaded);
    expect(await order(async () => loaded, { isAtOnce: true })).toBe(loaded);
    expect(waiting.isLoading).toBe(false);
    waiting.hurry();
    expect(await waiting.result).toBe(loaded);
    first.resolve(loaded);
    await held;
  });

  it("are free again after a load that throws instead of rejecting, or whose failure cannot be told", async () => {
    const { order } = oneByOne();
    const broken = () => {
      throw new Error("no promise");
    };
    await expect(order(broken)).rejects.toThrow("no promise");
    const failing = { onAction: ({ do: what }: LoadAction) => void (what === "fail" && broken()) };
    await expect(order(async () => Promise.reject(new Error("no file")), failing)).rejects.toThrow("no file");
    expect(await order(async () => loaded)).toBe(loaded);
  });
});
