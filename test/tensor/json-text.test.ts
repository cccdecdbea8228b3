import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { toJsonText } from "../../src/tensor/json-text.ts";
import { createTensor } from "../../src/tensor/tensor.ts";

describe("JSON text", () => {
  test.each([
    ["a tensor", createTensor("float32", [2, 1], Float32Array.of(1, Number.NaN)), "[[1],[null]]"],
    ["a 64-bit integer", createTensor("int64", [], BigInt64Array.of(2n ** 62n)), "4611686018427387904"],
    ["bytes", createTensor("bytes", [2], [Buffer.from("a"), Buffer.of(0xff)]), '["a","/w=="]'],
    ["an empty tensor", createTensor("float32", [2, 0], new Float32Array()), "[[],[]]"],
    ["plain values", { a: undefined, b: [1n, "x"] }, '{"b":[1,"x"]}'],
    ["numbers", [1e21, 0.1, -0, Number.NaN, -Infinity, undefined, null], "[1e+21,0.1,0,null,null,null,null]"],
    ["a Date", { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ["what has a toJSON", { a: { toJSON: () => ({ big: 1n }) } }, '{"a":{"big":1}}'],
    ["typed arrays", [Float32Array.of(0.5), BigInt64Array.of(3n), Buffer.from("a")], '[[0.5],[3],"a"]'],
    [
      "an instance of a class with members",
      new (class Face {
        readonly score = 1;
      })(),
      '{"score":1}',
    ],
    ["an object without a prototype", Object.assign(Object.create(null), { a: {} }), '{"a":{}}'],
  ])("of %s", (_, value, text) => {
    expect(toJsonText(value)).toBe(text);
  });

  test.each([
    ["a promise", { out: Promise.resolve(1) }, /^out is a promise, .* Was an await forgotten\?$/],
    [
      "one of another realm, deep within",
      { a: [1, { b: runInNewContext("Promise.resolve(1)") }] },
      /^a\[1\]\.b is a promise/,
    ],
    [
      "a Map",
      { faces: [new Map([[1, 2]])] },
      /^faces\[0\] is a Map, of which JSON would keep nothing; expected plain data/,
    ],
    ["a Set", new Set([1]), /^The value is a Set/],
    ["an Error", { a: new Error("x") }, /^a is a Error/],
    ["a DataView", { a: new DataView(new ArrayBuffer(1)) }, /^a is a DataView/],
    ["a function", { a: { b: () => 1 } }, /^a\.b is a function/],
    ["a symbol", [Symbol("x")], /^\[0\] is a symbol/],
  ])("is not made of %s, of which nothing would be left", (_, value, message) => {
    expect(() => toJsonText(value)).toThrow(
      expect.objectContaining({ code: "invalid_argument", message: expect.stringMatching(message) }),
    );
  });

  test.each([
    '{"x":{"dtype":"float32","shape":[2],"data":[1,2]}}',
    '{"x":{"dtype":"f","shape":[60000,60000],"data":[]}}',
    '{"x":{"dtype":"float32","shape":[60000,60000],"data":[]}}',
  ])("of parsed JSON is that JSON: %s", (text) => {
    expect(toJsonText(JSON.parse(text))).toBe(text);
  });

  test.each([
    ['{"x":{"dtype":"bytes","shape":[60000,60000],"data":[]}}', "has 3600000000 values, but 0 were given"],
    ['{"x":{"dtype":"bytes","shape":[60000,60000,0],"data":[]}}', "has no elements, but 3600000000 empty lists"],
  ])("is not made of a shape that its data does not pay for: %s", (text, message) => {
    expect(() => toJsonText(JSON.parse(text))).toThrow(message);
  });
});
