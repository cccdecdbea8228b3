import { expect, test } from "vitest";
import { toErrorText } from "../../src/cli/error-text.ts";
import { ServingError } from "../../src/errors.ts";

const failure = new ServingError("failed_precondition", "The model\n  did not load.", {
  cause: new Error("disk", { cause: "gone" }),
});

test("a failure is one line", () => {
  expect(toErrorText(failure, { causes: false, excerpt: false })).toBe("kserving: The model did not load.\n");
});

test("a failure is followed by its causes where they are wanted", () => {
  const lines = toErrorText(failure, { causes: true, excerpt: false }).split("\n");
  expect(lines.slice(0, 2)).toEqual(["kserving: The model did not load.", "  caused by: Error: disk"]);
  expect(lines.at(-2)).toBe("  caused by: 'gone'");
});

test("a cause that leads to itself is told once", () => {
  const loop = new Error("loop");
  loop.cause = loop;
  expect(toErrorText(loop, { causes: true, excerpt: false }).match(/caused by/g)).toHaveLength(1);
});

test("an error that nobody foresaw shows its own stack where causes are wanted", () => {
  expect(toErrorText(new TypeError("x is not a function"), { causes: true, excerpt: false })).toMatch(
    /^kserving: x is not a function\n {2}caused by: TypeError: x is not a function\n +at /,
  );
});
