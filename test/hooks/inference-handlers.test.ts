import { describe, expect, test } from "vitest";
import { validateHooks } from "../../src/hooks/hook-set.ts";
import type { HookContext } from "../../src/hooks/hooks.ts";

const f = () => ["", "a/b"];
const entriesOf = (exports: object, file = "code/inference.ts") =>
  validateHooks(exports as never, 1, file).entries ?? new Map();

test.each([
  ["handler alone", { handler: f }, ["handler"]],
  ["the pair", { input_handler: f, output_handler: f }, ["input_handler", "output_handler"]],
  ["handler before the pair", { handler: f, input_handler: f, output_handler: f }, ["handler"]],
  ["handler before one of the pair", { handler: f, input_handler: f, helper: 1 }, ["handler"]],
])("an inference file has %s", (_, exports, names) => {
  expect([...entriesOf(exports).keys()]).toEqual(names);
});

test("an inference file without handlers may be a hook file, and other files have no handlers", () => {
  expect(entriesOf({ preprocess: () => ({}) })).toEqual(new Map());
  expect(() => entriesOf({ preprocess: () => ({}), handler: f }, "my-inference.ts")).toThrow(
    'has no use for "handler"',
  );
  expect([...entriesOf({ handler: f }, "inference.mjs").keys()]).toEqual(["handler"]);
});

test.each([
  ["nothing", {}, "code/inference.ts: input_handler is undefined; expected the functions input_handler(data, context)"],
  ["one of the pair", { input_handler: f }, "code/inference.ts: output_handler is undefined; expected"],
  ["a handler that is none", { handler: "x" }, "code/inference.ts: handler is a string; expected"],
])("an inference file with %s is refused", (_, exports, message) => {
  expect(() => entriesOf(exports)).toThrow(message);
});

describe("what handlers get and return", () => {
  const call = { facts: { model_name: "m", status_code: 400 }, headers: {}, body: Buffer.from("abcdef") };
  const entry = (name: string, handler: unknown) =>
    entriesOf({ input_handler: f, output_handler: f, [name]: handler }).get(name)!;

  test("data.read gives what is left, or as much as is asked for", () => {
    const read = (data: { read(size?: number): Buffer }) =>
      [data.read(2), data.read(0), data.read(), data.read()].map(String);
    expect(entry("handler", read).call(call, {} as HookContext)).toEqual(["ab", "", "cdef", ""]);
    const all = (data: { read(size?: number): Buffer }) => String(data.read(-1));
    expect(entry("input_handler", all).call(call, {} as HookContext)).toBe("abcdef");
  });

  test("a response has a status and bytes; the context has no status", () => {
    const tell = (response: object, context: object) => [{ ...response }, context];
    expect(entry("output_handler", tell).call(call, {} as HookContext)).toMatchObject([
      { status_code: 400, content: call.body, text: "abcdef" },
      { model_name: "m", channel: null },
    ]);
  });

  test.each([
    ["output_handler", undefined, "returned undefined; expected an array of a body"],
    ["output_handler", "text", "returned a string; expected"],
    ["output_handler", ["text"], "returned an array of a string; expected"],
    ["handler", [{}, "a/b"], "returned an array of an object, a string; expected"],
    ["handler", ["text", "a\nb"], "returned an array of a string, a string; expected"],
    ["input_handler", { instances: [] }, "returned an object; expected the request for the model as a text or bytes"],
  ])("%s: %j is an internal error", (name, returned, message) => {
    expect(() => entry(name, f).seal(returned)).toThrow(`The hook ${name} ${message}`);
  });
});
