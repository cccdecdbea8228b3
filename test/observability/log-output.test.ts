import { expect, test } from "vitest";
import { ServingError } from "../../src/errors.ts";
import type { LogLevel } from "../../src/observability/log-filter.ts";
import { LogFilter } from "../../src/observability/log-filter.ts";
import { createTextOutput } from "../../src/observability/log-output.ts";
import { createOutputLogger, type Logger } from "../../src/observability/logger.ts";

/** Output of a logger, without the time. */
function printed(level: LogLevel, use: (log: Logger) => void): string {
  let text = "";
  const write = (chunk: string) => {
    text += chunk;
    return true;
  };
  const filter = new LogFilter(level);
  const output = createTextOutput({ write, isTTY: false }, { isVerbose: () => filter.writes("debug") });
  use(createOutputLogger([output], filter));
  return text.replace(/^\d\d:\d\d:\d\d /, "");
}

function thrownAt(message: string, ...frames: string[]): Error {
  const error = new Error(message);
  error.stack = [`Error: ${message}`, ...frames.map((frame) => `    at ${frame}`)].join("\n");
  return error;
}

test("an event is one line: time, level, message, fields", () => {
  expect(printed("info", (log) => log.info("hooks reloaded", { ms: 12, path: "a b" }))).toBe(
    'INFO  hooks reloaded  ms=12  path="a b"\n',
  );
});

test("a line that is no JSON is printed as it is", () => {
  let text = "";
  const write = (chunk: string) => {
    text += chunk;
    return true;
  };
  createTextOutput({ write, isTTY: false }, { isVerbose: () => false }).write('{"msg":"a"b"}');
  expect(text).toBe('{"msg":"a"b"}\n');
});

test("an error is its message, then the user's own place, then the fields; no stack", () => {
  const cause = thrownAt("no labels", "node:fs:1:1", "preprocess (/nowhere/hooks.ts:3:9)", "run (node:x:1:1)");
  const err = new ServingError("internal", "The hook preprocess failed: no labels", { cause });
  err.stack = `${err.stack?.split("\n")[0]}\n    at node:fs:1:1`;
  expect(printed("info", (log) => log.error("request failed", { status: 500, err }))).toBe(
    [
      "ERROR request failed: The hook preprocess failed: no labels",
      "         at /nowhere/hooks.ts:3:9",
      "         status=500\n",
    ].join("\n"),
  );
});

test("at level debug the stacks follow, causes included", () => {
  const err = new Error("outer", { cause: thrownAt("inner", "node:fs:1:1") });
  const text = printed("debug", (log) => log.error("failed", { err }));
  expect(text).toMatch(/^ERROR failed: outer\n[\s\S]*Error: outer\n +at [\s\S]*Error: inner\n +at node:fs:1:1\n$/);
});

test("an error that the message names already is not repeated", () => {
  const err = thrownAt("no disk");
  expect(printed("info", (log) => log.error("it failed: no disk", { err }))).toBe("ERROR it failed: no disk\n");
});

test.each([["text"], [7], [null], [undefined], [{ code: "E" }]])("%j as err is printed, whatever was thrown", (err) => {
  expect(printed("info", (log) => log.error("rejected", { err }))).toMatch(/^ERROR rejected/);
});

test("what a client wrote cannot command the terminal", () => {
  expect(printed("info", (log) => log.warn("a\u001b[2Jb", { url: "/\u001b]0;x\u0007" }))).toBe(
    "WARN  a\\u001b[2Jb  url=/\\u001b]0;x\\u0007\n",
  );
});
