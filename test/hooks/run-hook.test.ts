import { describe, expect, test } from "vitest";
import { ServingError } from "../../src/errors.ts";
import type { Hook, HookContext } from "../../src/hooks/hooks.ts";
import { runHook } from "../../src/hooks/run-hook.ts";

const place = (hook: unknown) => ({ hook: hook as Hook, place: "preprocess", args: {} as never });
const context = (signal: AbortSignal = new AbortController().signal) => ({ signal }) as HookContext;
const forever = () => new Promise(() => {});

describe("a hook whose promise never settles", () => {
  test("ends with its request's deadline, without a hook timeout", async () => {
    await expect(runHook(place(forever), {}, context(AbortSignal.timeout(1)))).rejects.toMatchObject({
      code: "deadline_exceeded",
    });
  });

  test("ends with its request's cancelling, also one that came before", async () => {
    const abort = new AbortController();
    const running = runHook(place(forever), {}, context(abort.signal), 60_000);
    abort.abort();
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
    await expect(runHook(place(forever), {}, context(abort.signal))).rejects.toMatchObject({ code: "cancelled" });
  });

  test("ends with the hook timeout", async () => {
    await expect(runHook(place(forever), {}, context(), 1)).rejects.toMatchObject({
      code: "deadline_exceeded",
      message: expect.stringContaining("The hook preprocess has not returned within 1 ms"),
    });
  });
});

test("a promise that settles in time gives its values", async () => {
  expect(
    await runHook(
      place(async () => ({ x: 1 })),
      {},
      context(),
      60_000,
    ),
  ).toEqual({ x: 1 });
});

describe("what a hook throws", () => {
  const throwing = (reason: unknown) =>
    runHook(
      place(() => {
        throw reason;
      }),
      {},
      context(),
    );

  test("keeps its code, and one that is none becomes unknown", async () => {
    await expect(throwing(new ServingError("not_found", "no face"))).rejects.toMatchObject({ code: "not_found" });
    const foreign = Object.assign(new Error("short"), { code: "teapot", [Symbol.for("kserving.ServingError")]: true });
    await expect(throwing(foreign)).rejects.toMatchObject({ code: "unknown", message: "short" });
  });

  test("is internal with the hook's message when it is no ServingError", async () => {
    await expect(throwing(new Error("no labels"))).rejects.toMatchObject({
      code: "internal",
      message: "The hook preprocess failed: no labels",
    });
  });
});
