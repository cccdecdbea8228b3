import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { findUserFrame } from "../../src/observability/user-frame.ts";

const OWN = fileURLToPath(new URL("../../dist/pipeline/pipeline.js", import.meta.url));
const stack = (message: string, ...places: string[]) =>
  [`Error: ${message}`, ...places.map((p) => `    at ${p}`)].join("\n");

test.each([
  ["a named function", "preprocess (/home/me/hooks.ts:3:15)", "/home/me/hooks.ts"],
  ["a URL", "async preprocess (file:///home/me/my%20hooks.ts:3:15)", "/home/me/my hooks.ts"],
  ["no name", "/home/me/hooks.ts:3:15", "/home/me/hooks.ts"],
  ["a URL without a name", "file:///home/me/hooks.ts:3:15", "/home/me/hooks.ts"],
  ["a method", "new Faces [as find] (/home/me/hooks.ts:3:15)", "/home/me/hooks.ts"],
])("a frame with %s is read", (_, place, file) => {
  expect(findUserFrame({ message: "broken", stack: stack("broken", place) })).toEqual({ file, line: 3, column: 15 });
});

test("frames of Node, of packages and of the program itself are passed over", () => {
  const frames = [
    "node:fs:1:1",
    "JSON.parse (<anonymous>)",
    "f (/app/node_modules/sharp/lib/a.js:1:1)",
    `g (${OWN}:1:1)`,
  ];
  expect(findUserFrame({ message: "broken", stack: stack("broken", ...frames) })).toBeUndefined();
  const own = stack("broken", ...frames, "h (/home/me/hooks.ts:9:2)");
  expect(findUserFrame({ message: "broken", stack: own })).toMatchObject({ file: "/home/me/hooks.ts", line: 9 });
});

test("where an error has no such frame, its cause's counts", () => {
  const cause = { message: "inner", stack: stack("inner", "f (/home/me/hooks.ts:1:2)") };
  expect(findUserFrame({ message: "outer", stack: stack("outer", `g (${OWN}:1:1)`), cause })).toMatchObject({
    line: 1,
  });
});

test("a message that looks like a stack leads nowhere", () => {
  const message = "x\n    at /etc/passwd.js:1:1";
  expect(findUserFrame({ message, stack: stack(message, "node:fs:1:1") })).toBeUndefined();
});

test.each([[undefined], [null], ["text"], [{}], [{ stack: 7 }]])("%j has no frame", (reason) => {
  expect(findUserFrame(reason)).toBeUndefined();
});

test("an error that is its own cause ends the search", () => {
  const loop = new Error("loop");
  loop.stack = "Error: loop";
  loop.cause = loop;
  expect(findUserFrame(loop)).toBeUndefined();
});
