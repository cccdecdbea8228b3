import { expect, test } from "vitest";
import { packArguments, unpackResult } from "../../../src/drivers/python/python-model.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";

const tensor = createTensor("float32", [1], Float32Array.of(1));

test("tensors and typed arrays leave the JSON, plain data stays", () => {
  const { json, tensors } = packArguments([tensor, { list: [Uint8Array.of(2), "text", null, true, undefined] }]);
  expect(json).toEqual([{ $tensor: "0" }, { list: [{ $tensor: "1" }, "text", null, true, null] }]);
  expect(tensors).toEqual({ 0: tensor, 1: createTensor("uint8", [1], Uint8Array.of(2)) });
});

test("a result gets its tensors back", () => {
  expect(unpackResult({ a: [{ $tensor: "0" }, 1], b: null }, { 0: tensor })).toEqual({ a: [tensor, 1], b: null });
});

test.each([[() => 1], [Symbol("s")], [1n], [new Map()]])("%s cannot be an argument", (value) => {
  expect(() => packArguments([value])).toThrow("expected tensors and plain data");
});
