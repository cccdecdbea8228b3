import { expect, test } from "vitest";
import { boundFields, boundMessage } from "../../src/observability/bound-event.ts";

const BIG = "x".repeat(50_000_000);
/** Characters of an event's fields in a log, from above. */
const MAX = 50_000;

test("fields of usual length stay the same object", () => {
  for (const fields of [
    {},
    { a: 1, b: "text", c: null, d: true, e: 5n, f: undefined },
    { list: [1, 2, { a: "b" }], when: new Date(0), map: new Map([[1, 2]]), bytes: Buffer.from("abc") },
    { err: new Error("b", { cause: new Error("c") }) },
  ])
    expect(boundFields(fields)).toBe(fields);
});

test.each<[string, unknown]>([
  ["a text", BIG],
  ["a list of texts", Array.from({ length: 100_000 }, () => "x".repeat(100))],
  ["a list", Array.from({ length: 1_000_000 }, () => 1)],
  ["an object of many members", Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, at]))],
  ["a long name", { [BIG]: 1 }],
  ["memory", new Float32Array(10_000_000)],
  ["an error's message", new Error(BIG)],
  ["an error's cause", new Error("a", { cause: new Error("b", { cause: BIG }) })],
  ["an error's own member", Object.assign(new Error("a"), { body: BIG })],
  ["many errors in one", new AggregateError(Array.from({ length: 10_000 }, () => new Error("a")))],
  ["a map", new Map([["a", BIG]])],
  ["a large integer", 2n ** 10_000_000n],
])("of %s the log has its beginning", (_, value) => {
  const { err } = boundFields({ err: value }) as { err: Error & { cause?: Error } };
  const texts = [JSON.stringify(err), err.message, err.stack, err.cause?.message, err.cause?.stack];
  expect(texts.join().length).toBeLessThan(MAX);
});

test("values within one another without end are written to a depth", () => {
  const own: Record<string, unknown> = {};
  own.own = own;
  expect(JSON.stringify(boundFields({ own })).length).toBeLessThan(200);
});

test("an error that is cut has its class, its places and what was left out", () => {
  const { err } = boundFields({ err: new TypeError(BIG) }) as { err: Error };
  expect(err).toBeInstanceOf(Error);
  expect([err.name, err.message.slice(-30)]).toEqual(["TypeError", "xxx… (49983616 more characters)".slice(-30)]);
  expect(err.stack).toMatch(/^TypeError: x+… \(\d+ more characters\) .*bound-event\.test\.ts/s);
});

test("a getter that throws keeps no event from the log", () => {
  const fields = {
    big: BIG,
    get broken(): unknown {
      throw new Error("no");
    },
  };
  expect(() => boundFields(fields)).not.toThrow();
});

test("a message is cut too", () => {
  expect(boundMessage("short")).toBe("short");
  expect(boundMessage(BIG)).toHaveLength(16 * 1024 + "… (49983616 more characters)".length);
});
