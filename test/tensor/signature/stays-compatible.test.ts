import { expect, test } from "vitest";
import type { Dimension, TensorSpec } from "../../../src/tensor/signature/signature.ts";
import { staysCompatible } from "../../../src/tensor/signature/stays-compatible.ts";

const spec = (name: string, shape?: readonly Dimension[]): TensorSpec => ({
  name,
  dtype: "float32",
  ...(shape && { shape }),
});
const withDefault: TensorSpec = {
  ...spec("new"),
  default: { dtype: "float32", shape: [1], data: new Float32Array(1) },
};

const compare = (before: readonly TensorSpec[] | undefined, now: readonly TensorSpec[] | undefined) => {
  const signature = (inputs: readonly TensorSpec[] | undefined) => (inputs === undefined ? {} : { inputs });
  return staysCompatible({ f: signature(before) }, { f: signature(now), other: {} });
};

test.each([
  ["equal ones", [spec("x", [2])], [spec("x", [2])], true],
  ["an open size", [spec("x", [-1, 2])], [spec("x", [4, 2])], true],
  ["ranges that overlap", [spec("x", [{ min: 1, max: 4 }])], [spec("x", [4])], true],
  ["a size beyond the range", [spec("x", [{ min: 1, max: 4 }])], [spec("x", [5])], false],
  ["another size", [spec("x", [2])], [spec("x", [3])], false],
  ["another rank", [spec("x", [2])], [spec("x", [2, 1])], false],
  ["another name", [spec("x")], [spec("y")], false],
  ["another dtype", [spec("x")], [{ ...spec("x"), dtype: "int32" }], false],
  ["a further input", [spec("x")], [spec("x"), spec("new")], false],
  ["a further input with a default", [spec("x")], [spec("x"), withDefault], true],
  ["nothing told before", undefined, [spec("x")], true],
  ["nothing told now", [spec("x")], undefined, true],
] as const)("signatures with %s", (_, before, now, is) => {
  expect(compare(before, now)).toBe(is);
});

test("a signature or an output that is gone is missed, a further output is not", () => {
  expect(staysCompatible({ f: {}, g: {} }, { f: {} })).toBe(false);
  expect(staysCompatible({ f: { outputs: [spec("y")] } }, { f: { outputs: [] } })).toBe(false);
  expect(staysCompatible({ f: { outputs: [] } }, { f: { outputs: [spec("y")] } })).toBe(true);
});
