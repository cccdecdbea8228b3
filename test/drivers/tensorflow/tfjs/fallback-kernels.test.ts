import * as tf from "@tensorflow/tfjs-core";
import { beforeAll, expect, it } from "vitest";
import { startTfjs } from "../../../../src/drivers/tensorflow/tfjs/tfjs-backend.ts";
import { WASM_DEFECTS } from "../../../../src/drivers/tensorflow/tfjs/wasm-defects.ts";

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
