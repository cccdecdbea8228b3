import { expect, test } from "vitest";
import { createTensor } from "../../src/tensor/tensor.ts";
import { tensorOf } from "../../src/tensor/tensor-of.ts";

const values = { scores: createTensor("float32", [2], Float32Array.of(1, 2)) };

test("tensorOf gives the tensor, its data typed", () => {
  const data: Float32Array = tensorOf(values, "scores", "float32").data;
  expect(data).toBe(values.scores.data);
});

test("tensorOf makes tensors of plain values, as PredictJSON has them", () => {
  expect(tensorOf({ x: [[1, 2]] }, "x", "float32")).toEqual(createTensor("float32", [1, 2], Float32Array.of(1, 2)));
  expect(tensorOf({ text: "a" }, "text", "bytes").data).toEqual([new TextEncoder().encode("a")]);
});

test.each([
  [values, "score", '"score" is missing. Did you mean "scores"? There are scores.'],
  [{}, "x", '"x" is missing. There are none.'],
  [values, "toString", '"toString" is missing.'],
])("tensorOf refuses %o without %s", (given, name, message) => {
  expect(() => tensorOf(given, name, "float32")).toThrow(
    expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(message) }),
  );
});

test("tensorOf refuses another dtype, under the code that it is given", () => {
  const wrong = () => tensorOf(values, "scores", "int64", { code: "internal" });
  expect(wrong).toThrow(
    expect.objectContaining({ code: "internal", message: '"scores" is float32 [2]; expected int64.' }),
  );
  expect(() => tensorOf({ x: 1.5 }, "x", "int32")).toThrow('"x" is float32 []; expected int32.');
});
