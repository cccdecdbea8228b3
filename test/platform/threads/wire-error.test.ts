import { expect, test } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import { fromWireError, toWireError } from "../../../src/platform/threads/wire-error.ts";

const cross = (reason: unknown) => fromWireError(JSON.parse(JSON.stringify(toWireError(reason))));

test("code, message and the cause's texts cross", () => {
  const cause = new TypeError("x is no function");
  const error = cross(new ServingError("aborted", "try again", { cause }));
  expect(error).toMatchObject({ code: "aborted", message: "try again" });
  expect(error.cause).toMatchObject({ message: "x is no function", stack: cause.stack });
});

test("an error without a cause has none on the other side", () => {
  expect(cross(new ServingError("aborted", "try again")).cause).toBeUndefined();
});

test("what is no error is internal, with its text as the cause", () => {
  expect(cross("just text")).toMatchObject({ code: "internal", cause: { message: "just text" } });
});

test.each([
  ["a stack that is no text", { stack: 1n }, "x"],
  ["a message that has no text", { message: Object.create(null) }, "(a value that has no text)"],
])("%s does not keep an error from crossing", (_, members, message) => {
  expect(cross(Object.assign(new Error("x"), members)).cause).toMatchObject({ message });
});

test("the causes of a cause cross with their stacks, an endless chain to its fifth", () => {
  const root = new TypeError("x is no function");
  const error = cross(new ServingError("internal", "a", { cause: new Error("b", { cause: root }) }));
  expect((error.cause as Error).stack).toContain(`caused by: ${root.stack}`);
  const own = new Error("own");
  own.cause = own;
  expect((cross(own).cause as Error).stack?.split("caused by: ")).toHaveLength(5);
});

test("long texts are cut where they are sent, and where they arrive", () => {
  const text = "x".repeat(5_000_000);
  const details = [{ type: "t", value: text }];
  const error = new ServingError("internal", text, { cause: new Error(text, { cause: new Error(text) }), details });
  expect(JSON.stringify(toWireError(error)).length).toBeLessThan(100_000);
  const arrived = fromWireError({ code: "internal", message: text, cause: { message: text, stack: text }, details });
  expect(arrived.message.length + (arrived.cause as Error).message.length).toBeLessThan(40_000);
  expect([(arrived.cause as Error).stack!.length < 20_000, arrived.details]).toEqual([true, undefined]);
});
