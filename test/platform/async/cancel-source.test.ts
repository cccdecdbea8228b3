import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it, test } from "vitest";
import {
  CancelSource,
  limitedSignal,
  toAbortSignal,
  unlessAborted,
} from "../../../src/platform/async/cancel-source.ts";

describe("a source that is aborted", () => {
  test("tells its listeners once, and why", () => {
    const source = new CancelSource();
    const told: unknown[] = [];
    source.addEventListener("abort", () => told.push(source.reason));
    source.addEventListener("abort", () => told.push("second"));
    expect([source.aborted, source.reason]).toEqual([false, undefined]);
    source.abort("why");
    source.abort("again");
    expect([source.aborted, source.reason, told]).toEqual([true, "why", ["why", "second"]]);
    expect(() => source.throwIfAborted()).toThrow("why");
  });

  test("does not tell those who left, nor those who come later", () => {
    const source = new CancelSource();
    const told: string[] = [];
    const leave = () => told.push("left");
    source.addEventListener("abort", leave);
    source.addEventListener("abort", () => told.push("stayed"));
    source.removeEventListener("abort", leave);
    source.removeEventListener("abort", leave);
    source.abort();
    source.addEventListener("abort", () => told.push("late"));
    expect(told).toEqual(["stayed"]);
  });

  test("without a reason has an AbortController's", () => {
    const source = new CancelSource();
    source.throwIfAborted();
    source.abort();
    expect(source.reason).toMatchObject({ name: "AbortError" });
  });
});

describe("the AbortSignal of a source", () => {
  test("is one and the same, and aborts with it", () => {
    const source = new CancelSource();
    const signal = toAbortSignal(source);
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(toAbortSignal(source)).toBe(signal);
    expect(signal.aborted).toBe(false);
    source.abort("why");
    expect([signal.aborted, signal.reason]).toEqual([true, "why"]);
  });

  test("that is asked for late has aborted already", () => {
    const source = new CancelSource();
    source.abort("why");
    expect(toAbortSignal(source).reason).toBe("why");
  });
});

test("an AbortSignal stays what it is", () => {
  const { signal } = new AbortController();
  expect(toAbortSignal(signal)).toBe(signal);
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test.each(["alone", "beside another signal"])("a time limit %s holds while garbage is collected", async (kind) => {
  const signal = limitedSignal(kind === "alone" ? undefined : new AbortController().signal, 50);
  const aborted = new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason.name)));
  const collecting = setInterval(collectGarbage, 10);
  try {
    expect(await aborted).toBe("TimeoutError");
  } finally {
    clearInterval(collecting);
  }
});

test("the given signal ends it before its time, with its reason", () => {
  const controller = new AbortController();
  const signal = limitedSignal(controller.signal, 60_000);
  controller.abort("enough");
  expect(signal.reason).toBe("enough");
});

test("a signal without a limit never aborts by itself", () => {
  expect(limitedSignal(undefined, undefined).aborted).toBe(false);
});

describe("a promise that a signal may cut short", () => {
  it("settles as it is while the signal is still", async () => {
    const { signal } = new AbortController();
    await expect(unlessAborted(Promise.resolve(1), signal)).resolves.toBe(1);
    await expect(unlessAborted(Promise.reject(new Error("failed")), signal)).rejects.toThrow("failed");
  });

  it("rejects with the signal's reason, however long it would take", async () => {
    const controller = new AbortController();
    const answer = unlessAborted(new Promise(() => {}), controller.signal);
    controller.abort(new Error("gone"));
    await expect(answer).rejects.toThrow("gone");
  });

  it("rejects where that has come before", async () => {
    const signal = AbortSignal.abort(new Error("gone"));
    await expect(unlessAborted(new Promise(() => {}), signal)).rejects.toThrow("gone");
  });
});
