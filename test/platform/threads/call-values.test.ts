import { describe, expect, test } from "vitest";
import { packValues, unpackValues } from "../../../src/platform/threads/call-values.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";

/** As a record carries them: the plain data is JSON text on its way. */
const cross = (value: unknown) => {
  const { json, tensors } = packValues(value);
  return unpackValues({ json: JSON.parse(JSON.stringify(json)), tensors });
};

describe("what a call carries arrives as it was", () => {
  test.each([
    ["numbers that JSON has no word for", [Number.NaN, Infinity, -Infinity, -0, 0, 1.5]],
    ["bigints and undefined", { a: 2n ** 70n, b: undefined, c: [undefined] }],
    ["tensors and typed arrays", { t: createTensor("float32", [1], Float32Array.of(1)), d: Int8Array.of(1) }],
    ["a Buffer", Buffer.from("ab")],
    ["what only looks like a tensor", { dtype: "float32", shape: [1], data: [1] }],
    ["keys that look like markers", { $data: 0, $$tensor: { $undefined: true }, $: "x", a$: 1 }],
    ["a name such as __proto__", JSON.parse('{"__proto__":{"a":1}}')],
  ])("%s", (_, value) => {
    expect(cross(value)).toStrictEqual(value);
  });

  test("an object without a prototype, as a plain one", () => {
    expect(cross(Object.assign(Object.create(null), { a: 1 }))).toEqual({ a: 1 });
  });
});

describe("what cannot cross is refused by its name", () => {
  test.each([
    ["a Date", new Date(0)],
    ["a Map", new Map([["a", 1]])],
    ["a Set", [new Set([1])]],
    ["a URL", { at: new URL("http://localhost") }],
    ["a function", () => 1],
    ["a symbol", Symbol("x")],
  ])("%s", (what, value) => {
    expect(() => packValues(value)).toThrow(
      expect.objectContaining({
        code: "invalid_argument",
        message: expect.stringContaining(`${what} cannot be passed between a hook and a model`),
      }),
    );
  });
});
