import { inspect } from "node:util";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { createRecord, isPlainObject, isRecord } from "../../src/tensor/record.ts";

describe("a record", () => {
  test("has no names but those put into it", () => {
    const record = createRecord<number>();
    expect(["constructor", "toString", "__proto__", "hasOwnProperty"].filter((name) => name in record)).toEqual([]);
    expect(Object.keys(record)).toEqual([]);
  });

  test("takes __proto__ and constructor as data", () => {
    const record = createRecord<unknown>();
    for (const [name, value] of [
      ["__proto__", { polluted: true }],
      ["constructor", 1],
    ] as const)
      record[name] = value;
    expect(Object.entries(record)).toEqual([
      ["__proto__", { polluted: true }],
      ["constructor", 1],
    ]);
    expect("polluted" in record).toBe(false);
    expect("polluted" in createRecord()).toBe(false);
  });

  test("cannot be given names for all records", () => {
    const prototype = Object.getPrototypeOf(createRecord());
    expect(() => Object.assign(prototype, { polluted: true })).toThrow(TypeError);
  });

  test("is shown as a plain object", () => {
    expect(inspect(Object.assign(createRecord(), { x: 1 }))).toBe("{ x: 1 }");
  });

  test("is told from objects that inherit names", () => {
    expect([createRecord(), Object.create(null), {}, []].map(isRecord)).toEqual([true, true, false, false]);
  });
});

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
