import { expect, it } from "vitest";
import { labelClasses } from "../../../src/tensor/signature/describe-tensors.ts";
import type { TensorSpec } from "../../../src/tensor/signature/signature.ts";

const LABELS = ["cat", "dog"];

it.each<[string, TensorSpec["dtype"], TensorSpec["shape"], boolean]>([
  ["of as many columns", "float32", [-1, 2], true],
  ["of as many values", "float64", [2], true],
  ["of any number of columns", "float16", [-1, -1], true],
  ["of other columns", "float32", [-1, 3], false],
  ["of open rank 3", "float32", [-1, -1, -1], false],
  ["of any shape", "float32", undefined, false],
  ["that is one number", "float32", [], false],
  ["of integers", "int64", [-1, 2], false],
])("an output %s", (_, dtype, shape, isLabelled) => {
  const outputs = [{ name: "y", dtype, ...(shape && { shape }) }];
  const { m } = labelClasses({ m: { outputs, method: "classify" } }, LABELS);
  expect(m).toEqual({ outputs: [{ ...outputs[0], ...(isLabelled && { labels: LABELS }) }], method: "classify" });
});

it("a signature that does not tell its outputs stays as it is", () => {
  expect(labelClasses({ m: { method: "regress" } }, LABELS)).toEqual({ m: { method: "regress" } });
});
