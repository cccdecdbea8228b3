import { expect, test } from "vitest";
import { toErrorText } from "../../src/cli/error-text.ts";
import { ServingError } from "../../src/errors.ts";

/** An error as if it came from a place. */
function thrownAt(place: string, message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { stack: `Error: ${message}\n    at ${place}:3:9` });
}

const failure = new ServingError("failed_precondition", "The model\n  did not load.", {
  cause: thrownAt("node:fs", "disk", "gone"),
});
failure.stack = "no frames";

test("a failure is one line", () => {
  expect(toErrorText(failure, { causes: false, excerpt: false })).toBe("kserving: The model did not load.\n");
});

test("a failure is followed by its causes where they are wanted", () => {
  const lines = toErrorText(failure, { causes: true, excerpt: false }).split("\n");
  expect(lines.slice(0, 2)).toEqual(["kserving: The model did not load.", "  caused by: Error: disk"]);
  expect(lines.at(-2)).toBe("  caused by: 'gone'");
});

test("a cause that leads to itself is printed once", () => {
  const loop = new Error("loop");
  loop.cause = loop;
  expect(toErrorText(loop, { causes: true, excerpt: false }).match(/caused by/g)).toHaveLength(1);
});

test("an unexpected error shows its own stack where causes are wanted", () => {
  expect(toErrorText(new TypeError("x is not a function"), { causes: true, excerpt: false })).toMatch(
    /^kserving: x is not a function \(at \S+\)\n {2}caused by: TypeError: x is not a function\n +at /,
  );
});

test("the place in the user's own file is part of the line, or has its line of code below", () => {
  const reason = new ServingError("failed_precondition", "init_hook failed: no", {
    cause: thrownAt("/no/hooks.ts", "no"),
  });
  reason.stack = "no frames";
  expect(toErrorText(reason, { causes: false, excerpt: false })).toBe(
    "kserving: init_hook failed: no (at /no/hooks.ts:3:9)\n",
  );
  expect(toErrorText(reason, { causes: false, excerpt: true })).toBe(
    "kserving: init_hook failed: no\n  at /no/hooks.ts:3:9\n",
  );
});

test("a place that the message names is not repeated", () => {
  const reason = new ServingError("failed_precondition", "hooks.ts:3:9: Unexpected", {
    cause: thrownAt("/no/hooks.ts", ""),
  });
  reason.stack = "no frames";
  expect(toErrorText(reason, { causes: false, excerpt: false })).toBe("kserving: hooks.ts:3:9: Unexpected\n");
});
