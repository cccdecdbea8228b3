import { describe, expect, it } from "vitest";
import { assertRequestRows, checkedRows, joinParts, rowsOf } from "../../../src/models/queue/batch-rows.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";

describe("the rows of a batched request", () => {
  it("are those that its inputs have in common, 1 without inputs", () => {
    expect(rowsOf(toTensors({ a: [[1], [2]], b: [1, 2] }))).toBe(2);
    expect(rowsOf(toTensors({}))).toBe(1);
  });

  it.each([
    [{ a: [1], b: 2 }, 'Batching Run() input tensors must have at least one dimension: "b" has none.'],
    [{ a: 1, b: [2] }, 'Batching Run() input tensors must have at least one dimension: "a" has none.'],
    [
      { a: [1], b: [1, 2] },
      'Batching Run() input tensors must have equal 0th-dimension size: "b" has 2 rows, but "a" has 1.',
    ],
  ])("are refused in TensorFlow Serving's words: %j", (inputs, message) => {
    expect(() => rowsOf(toTensors(inputs))).toThrow(expect.objectContaining({ code: "invalid_argument", message }));
  });

  it("are as many as a request may have", () => {
    const inputs = toTensors({ a: [1, 2, 3] });
    expect(() => assertRequestRows(inputs, 0)).not.toThrow();
    expect(() => assertRequestRows(inputs, 3)).not.toThrow();
    const message = "Task size 3 is larger than maximum input batch size 2";
    expect(() => assertRequestRows(inputs, 2)).toThrow(expect.objectContaining({ code: "invalid_argument", message }));
  });
});

describe("the rows of a batch's outputs", () => {
  it.each([
    [{ y: 1 }, 'Batched output tensor has 0 dimensions: "y" has shape [] for 2 rows.'],
    [
      { y: [[1, 2, 3]] },
      `Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of the input tensors: "y" has shape [1,3] for 2 rows.`,
    ],
  ])("are those of its inputs, else the error has TensorFlow Serving's words: %j", (outputs, message) => {
    const error = expect.objectContaining({ code: "failed_precondition", message });
    expect(() => checkedRows(toTensors(outputs), 2)).toThrow(error);
  });
});

describe("the parts of a request that was split", () => {
  it("are put together in order", () => {
    const parts = [
      { y: [[1, 2]] },
      {
        y: [
          [3, 4],
          [5, 6],
        ],
      },
    ].map((part) => toTensors(part));
    expect(joinParts(parts).y).toMatchObject({ shape: [3, 2], data: Int32Array.of(1, 2, 3, 4, 5, 6) });
  });

  it.each([
    [[{ y: [[3, 3, 3]] }, { y: [[2, 2]] }], "int32 [1,3] in one part, int32 [1,2] in another"],
    [[{ y: [[2, 2]] }, { y: [[3, 3, 3]] }], "int32 [1,2] in one part, int32 [1,3] in another"],
    [[{ y: [1] }, { y: [[1]] }], "int32 [1] in one part, int32 [1,1] in another"],
    [[{ y: [1] }, { y: ["a"] }], "int32 [1] in one part, bytes [1] in another"],
  ])("are not, where a model's output is as long as its values say: %j", (parts, detail) => {
    const message = `Output "y" has rows that do not go together: ${detail}.`;
    const error = expect.objectContaining({ code: "failed_precondition", message });
    expect(() => joinParts(parts.map((part) => toTensors(part)))).toThrow(error);
  });
});
