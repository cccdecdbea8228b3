import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { isPlainObject } from "../../src/tensor/is-plain-object.ts";

test.each<[string, unknown, boolean]>([
  ["an object", {}, true],
  ["one without a prototype", Object.create(null), true],
  ["one of another realm", runInNewContext("({})"), true],
  ["an array", [], false],
  ["a Date", new Date(), false],
  ["an instance of a class", new (class Face {})(), false],
  ["null", null, false],
  ["a function", () => {}, false],
])("tells whether %s is plain", (_, value, plain) => {
  expect(isPlainObject(value)).toBe(plain);
});
