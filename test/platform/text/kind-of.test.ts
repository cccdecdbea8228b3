import { expect, test } from "vitest";
import { kindOf } from "../../../src/platform/text/kind-of.ts";

test.each<[unknown, string]>([
  [undefined, "undefined"],
  [null, "null"],
  ["", "an empty string"],
  ["a", "a string"],
  [1n, "a bigint"],
  [[], "an array"],
  [Object.create(null), "an object"],
  [() => 1, "a function"],
])("%o is told as %s", (value, kind) => {
  expect(kindOf(value)).toBe(kind);
});
