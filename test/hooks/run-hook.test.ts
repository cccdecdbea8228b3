import { runInNewContext } from "node:vm";
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

  test.each([
    ["an object without a text", Object.create(null)],
    [
      "an object whose text throws",
      {
        toString: () => {
          throw new Error("nested");
        },
      },
    ],
  ])("names the hook, though it is %s", async (_, reason) => {
    await expect(throwing(reason)).rejects.toMatchObject({
      code: "internal",
      message: "The hook preprocess failed: (a value that has no text)",
      cause: reason,
    });
  });

  test.each([
    ["of ours", new (ServingError as unknown as new (code: string) => Error)("not_found")],
    ["of another copy", { code: "not_found", [Symbol.for("kserving.ServingError")]: true }],
  ])("names the hook where a ServingError %s has no message", async (_, reason) => {
    await expect(throwing(reason)).rejects.toMatchObject({
      code: "not_found",
      message: "The hook preprocess failed and gave no message.",
    });
  });

  test("shows neither of the paths that a failed file access is about", async () => {
    const reason = Object.assign(new Error("EXDEV: rename '/srv/secret/a' -> 'b/c'"), {
      path: "/srv/secret/a",
      dest: "b/c",
    });
    await expect(throwing(reason)).rejects.toThrow("The hook preprocess failed: EXDEV: rename '(path)' -> '(path)'");
  });
});

describe("what a hook returns", () => {
  const returning = (value: unknown) =>
    runHook(
      place(() => value),
      {},
      context(),
    );

  test("may be a promise of another realm, or an instance of a class with members", async () => {
    expect(await returning(runInNewContext("Promise.resolve({ x: 1 })"))).toEqual({ x: 1 });
    const faces = new (class Faces {
      readonly count = 1;
    })();
    expect(await returning(faces)).toBe(faces);
  });

  test.each([
    ["a Map", new Map([["x", 1]])],
    ["a Date", new Date(0)],
    ["an Error", new Error("x")],
    ["a Buffer", Buffer.from("x")],
  ])("is refused as %s", async (_, value) => {
    await expect(returning(value)).rejects.toThrow(/^The hook preprocess returned a bare \w+; expected an object/);
  });
});
