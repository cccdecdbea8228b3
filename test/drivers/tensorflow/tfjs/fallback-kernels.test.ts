import * as tf from "@tensorflow/tfjs-core";
import { beforeAll, expect, it } from "vitest";
import { WASM_DEFECTS } from "../../../../src/drivers/tensorflow/tfjs/kernel-checks.ts";
import { startTfjs } from "../../../../src/drivers/tensorflow/tfjs/tfjs-backend.ts";

beforeAll(() => startTfjs());

const flags = (...values: number[]) => tf.tensor(values, [values.length], "bool");
const integers = (values: number[], shape = [values.length]) => tf.tensor(values, shape, "int32");

/** Each where WebAssembly's own kernel fails or gives something else. */
const CASES: Readonly<Record<string, readonly [compute: () => tf.Tensor, dtype: string, expected: readonly number[]]>> =
  {
    BatchMatMul: [() => tf.matMul(integers([1, 2], [1, 2]), integers([3, 4], [2, 1])), "int32", [11]],
    Cast: [() => tf.cast(integers([0, 256, 2, -1]), "bool"), "bool", [0, 1, 1, 1]],
    ClipByValue: [() => tf.clipByValue(integers([-3, 1, 5]), -1, 2), "int32", [-1, 1, 2]],
    MaxPool: [() => tf.maxPool(integers([4, 7, -1, 2], [1, 2, 2, 1]) as tf.Tensor4D, 2, 2, "valid"), "int32", [7]],
    MaxPool3D: [
      () => tf.maxPool3d(tf.tensor([-3, -1, -2, -5], [1, 2, 2, 1, 1]) as tf.Tensor5D, [2, 2, 1], 2, "valid"),
      "float32",
      [-1],
    ],
    Prelu: [
      () => tf.prelu(tf.tensor([-1, -1, -1, -1], [2, 2]), tf.tensor([2, 3], [2, 1])),
      "float32",
      [-2, -2, -3, -3],
    ],
    ResizeNearestNeighbor: [
      () => tf.image.resizeNearestNeighbor(integers([1, 2], [1, 1, 2, 1]) as tf.Tensor4D, [1, 4]),
      "int32",
      [1, 1, 2, 2],
    ],
    Reverse: [() => tf.reverse(flags(1, 0, 0, 1, 1)), "bool", [1, 1, 0, 0, 1]],
    Select: [() => tf.where(flags(1, 0, 1), flags(1, 1, 0), flags(0, 0, 1)), "bool", [1, 0, 0]],
    StridedSlice: [() => tf.stridedSlice(integers([1, 2, 3, 4, 5]), [0], [5], [2]), "int32", [1, 3, 5]],
  };

it("has a case for each kernel that WebAssembly has wrong", () => {
  expect(Object.keys(CASES)).toEqual(Object.keys(WASM_DEFECTS));
});

it.each(Object.entries(CASES))("%s is right where WebAssembly's is wrong", (_kernel, [compute, dtype, expected]) => {
  const result = tf.tidy(compute);
  expect({ dtype: result.dtype, values: [...result.dataSync()] }).toEqual({ dtype, values: expected });
  result.dispose();
});

const texts = (...values: string[]) => tf.tensor(values, [values.length], "string");

it.each<[string, () => tf.Tensor, readonly unknown[]]>([
  ["Equal", () => tf.equal(texts("a", "b"), texts("a", "c")), [1, 0]],
  ["NotEqual", () => tf.notEqual(texts("a", "b"), texts("a", "c")), [0, 1]],
  ["Less", () => tf.less(texts("a", "b"), texts("b", "a")), [1, 0]],
  ["GreaterEqual", () => tf.greaterEqual(texts("a", "b"), texts("a", "c")), [1, 0]],
  ["Tile", () => tf.tile(texts("a", "b"), [2]), ["a", "b", "a", "b"]],
  ["Concat", () => tf.concat([texts("a"), texts("b")]), ["a", "b"]],
  ["Slice", () => tf.slice(texts("a", "b", "c"), [1], [1]), ["b"]],
])("%s takes strings", (_kernel, compute, expected) => {
  expect([...tf.tidy(compute).dataSync()]).toEqual(expected);
});

const far = (shape: number[]) => tf.fill(shape, 100_000, "int32");
const pixels = () => tf.ones([1, 2, 2, 1]) as tf.Tensor4D;

it.each<[string, () => tf.Tensor, RegExp | readonly number[]]>([
  ["GatherNd", () => tf.gatherND(integers([1, 2]), far([1, 1])), /Invalid indices/],
  ["GatherNd below zero", () => tf.gatherND(integers([1, 2]), integers([-1], [1, 1])), /Invalid indices/],
  ["ScatterNd", () => tf.scatterND(far([1, 1]), integers([7]), [2]), /Invalid indices/],
  [
    "TensorScatterUpdate",
    () => tf.tensorScatterUpdate(integers([1, 2]), far([1, 1]), integers([7])),
    /Invalid indices/,
  ],
  ["SparseToDense", () => tf.sparseToDense(far([1]), integers([7]), [2], tf.scalar(0, "int32")), /Invalid indices/],
  ["Bincount", () => tf.bincount(far([1]) as tf.Tensor1D, integers([]) as tf.Tensor1D, 2), [0, 0]],
  ["DenseBincount", () => tf.denseBincount(far([1]) as tf.Tensor1D, integers([]) as tf.Tensor1D, 2), [0, 0]],
  ["OneHot", () => tf.oneHot(far([1]), 2), [0, 0]],
  [
    "CropAndResize",
    () => tf.image.cropAndResize(pixels(), tf.tensor2d([[0, 0, 1, 1]]), far([1]) as tf.Tensor1D, [1, 1]),
    [0],
  ],
])("%s reads and writes nothing outside of its tensors", (_kernel, compute, expected) => {
  const values = () => [...tf.tidy(compute).dataSync()];
  if (expected instanceof RegExp) expect(values).toThrow(expected);
  else expect(values()).toEqual(expected);
});
