import { MessageChannel } from "node:worker_threads";
import { expect, test } from "vitest";
import { LogFilter } from "../../../src/observability/log-filter.ts";
import { createThreadLogger, isLogEvent, type LogEvent } from "../../../src/platform/threads/thread-logger.ts";

/** Fields that arrive on the other side of a port when these are logged. */
async function pass(fields: Readonly<Record<string, unknown>>): Promise<LogEvent["fields"]> {
  const { port1, port2 } = new MessageChannel();
  const arrived = new Promise<LogEvent>((resolve) => port2.once("message", resolve));
  createThreadLogger("info", (event) => port1.postMessage(event)).error("failed", fields);
  const { fields: passed } = await arrived;
  port1.close();
  return passed;
}

test("an error keeps its message, its stack and its causes", async () => {
  const err = new TypeError("outer", { cause: new RangeError("inner") });
  const { err: passed } = (await pass({ err })) as { err: Error };
  expect(passed).toBeInstanceOf(Error);
  expect(passed).toMatchObject({ message: "outer", stack: err.stack, cause: { message: "inner" } });
  expect(passed.stack).toContain("TypeError: outer");
});

test.each<[unknown[], string, object]>([
  [["x", { a: 1 }], "x", { a: 1 }],
  [[{ a: 1 }, "x"], "x", { a: 1 }],
  [[new Error("b")], "b", { err: { message: "b" } }],
  [["x", new Error("b")], "x", { err: { message: "b" } }],
  [[new Error("b"), "x"], "x", { err: { message: "b" } }],
  [[5, { a: 1 }], "5", { a: 1 }],
  [["x", null], "x", {}],
  [[undefined, 5], "undefined", {}],
  [[Symbol("s")], "Symbol(s)", {}],
  [[Object.create(null)], "(a value that has no text)", {}],
])("whatever is logged is an event with a text and fields: %o", (given, message, fields) => {
  const events: LogEvent[] = [];
  const log = createThreadLogger("info", (event) => events.push(event));
  (log.info as (...values: unknown[]) => void)(...given);
  expect(events).toMatchObject([{ message, fields }]);
  expect(isLogEvent(structuredClone(events[0]))).toBe(true);
});

const selfCaused = new Error("own cause");
selfCaused.cause = selfCaused;

test.each([
  ["a function as its cause", new Error("b", { cause: () => 1 }), { message: "b", cause: "() => 1" }],
  [
    "an object that has no text as its cause",
    new Error("b", { cause: Object.create(null) }),
    { cause: "(a value that has no text)" },
  ],
  [
    "a cause with a function as its own",
    new Error("b", { cause: new Error("c", { cause: () => 1 }) }),
    { cause: { cause: "() => 1" } },
  ],
  ["itself as its cause", selfCaused, { message: "own cause", cause: { message: "own cause" } }],
  ["a function as its stack", Object.assign(new Error("b"), { stack: () => 1 }), { message: "b", stack: "() => 1" }],
])("an error with %s crosses as text", async (_, err, expected) => {
  expect((await pass({ err })).err).toMatchObject(expected);
});

test("fields cross as they are, and as text where they cannot", async () => {
  const unreadable = new Proxy(
    {},
    {
      getPrototypeOf: () => {
        throw new Error("no");
      },
    },
  );
  const untold = Object.assign(Object.create(null), { run: () => 1 });
  const fields = await pass({
    count: 1,
    when: new Date(0),
    run: () => 1,
    untold,
    unreadable,
    deep: { at: [new Map([[1, 2]])] },
  });
  expect(fields).toEqual({
    count: 1,
    when: new Date(0),
    run: "() => 1",
    untold: "(a value that has no text)",
    unreadable: "(a value that has no text)",
    deep: { at: [new Map([[1, 2]])] },
  });
});

test("events below the level stay in the thread, and bound fields go along", () => {
  const sent: LogEvent[] = [];
  const log = createThreadLogger("warn", (event) => sent.push(event)).child({ from: "hooks" });
  log.info("quiet");
  log.warn("loud", { own: 1 });
  expect(sent).toEqual([{ level: "warn", message: "loud", fields: { from: "hooks", own: 1 } }]);
});

test("what another thread's filter begins to write is sent at once", () => {
  const sent: LogEvent[] = [];
  const filter = new LogFilter("warn");
  const log = createThreadLogger(filter.shared, (event) => sent.push(event));
  log.debug("lost");
  filter.set("debug", true);
  log.debug("seen");
  expect([log.level, sent]).toEqual(["debug", [{ level: "debug", message: "seen", fields: {} }]]);
});
