import { describe, expect, it } from "vitest";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { LoadGate } from "../../src/serving/load-gate.ts";

const NEVER = new AbortController().signal;

describe("a gate with one place", () => {
  it("lets loads through in their order, also after one that fails", async () => {
    const gate = new LoadGate(1);
    const order: number[] = [];
    const first = createDeferred<void>();
    const loads = [
      gate.run(() => first.promise, NEVER),
      gate.run(async () => void order.push(2), NEVER),
      gate.run(async () => void order.push(3), NEVER),
    ];
    first.reject(new Error("no file"));
    const results = await Promise.allSettled(loads);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
    expect(order).toEqual([2, 3]);
  });

  it("makes Node.js warn of nothing while many wait", async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on("warning", note);
    const gate = new LoadGate(1);
    await Promise.all(Array.from({ length: 20 }, () => gate.run(async () => {}, new AbortController().signal)));
    process.off("warning", note);
    expect(warnings).toEqual([]);
  });

  it("gives the place of a caller that no longer waits to the next", async () => {
    const gate = new LoadGate(1);
    const first = createDeferred<void>();
    const gone = new AbortController();
    const held = gate.run(() => first.promise, NEVER);
    const waiting = gate.run(async () => "loaded in vain", gone.signal);
    const next = gate.run(async () => "loaded", NEVER);
    gone.abort(new Error("not wanted any more"));
    await expect(waiting).rejects.toThrow("not wanted any more");
    first.resolve();
    await held;
    expect(await next).toBe("loaded");
  });

  it("takes none whose signal has aborted, and keeps the place of one that gave up as its turn came", async () => {
    const gate = new LoadGate(1);
    const first = createDeferred<void>();
    const gone = new AbortController();
    const held = gate.run(() => first.promise, NEVER);
    const late = gate.run(async () => gone.signal.throwIfAborted(), gone.signal);
    first.resolve();
    await held;
    gone.abort(new Error("too late"));
    await Promise.allSettled([late]);
    await expect(gate.run(async () => "never", gone.signal)).rejects.toThrow("too late");
    expect(await gate.run(async () => "loaded", NEVER)).toBe("loaded");
  });
});
