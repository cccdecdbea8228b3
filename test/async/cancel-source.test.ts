import { describe, expect, test } from "vitest";
import { CancelSource, toAbortSignal } from "../../src/async/cancel-source.ts";

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
