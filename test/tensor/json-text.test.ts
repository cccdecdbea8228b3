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
  ])("of %s", (_, value, text) => {
    expect(toJsonText(value)).toBe(text);
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
