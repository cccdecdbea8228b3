import { expect, test } from "vitest";
import { pickOutputs } from "../../src/pipeline/seal-outputs.ts";
import { toTensors } from "../../src/tensor/plain-value.ts";

test("outputs are picked in the order that was asked for, and one that is not there is named", () => {
  const tensors = toTensors({ a: 1, b: 2 });
  expect(Object.entries(pickOutputs(tensors, ["b", "a"]))).toEqual([
    ["b", tensors.b],
    ["a", tensors.a],
  ]);
  expect(() => pickOutputs(tensors, ["c"])).toThrow(/not found in signature: c .* in the set \{a,b\}/);
  expect(() => pickOutputs(tensors, ["toString"])).toThrow(/not found in signature: toString/);
});
