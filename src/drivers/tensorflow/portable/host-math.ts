import * as tf from "@tensorflow/tfjs-core";
import { elementCount } from "../../../tensor/tensor.ts";
import { sizeOfNew } from "../tfjs/tensor-size.ts";

/** The dtypes of results that are computed here. */
export type HostDType = "float32" | "int32" | "bool";

/** Computes each element in JavaScript, in double precision, and rounds the result to the carrier's type. */
export function mapNumbers(x: tf.Tensor, dtype: HostDType, compute: (value: number) => number): tf.Tensor {
  const values = x.dataSync();
  const results = allocate(dtype, values.length);
  for (let index = 0; index < values.length; index++) results[index] = compute(values[index]!);
  return tf.tensor(results, x.shape, dtype);
}

/** Computes pairs of elements, the shapes broadcast to each other; throws an Error for shapes that do not fit. */
export function zipNumbers(
  [a, b]: readonly [tf.Tensor, tf.Tensor],
  dtype: HostDType,
  compute: (a: number, b: number) => number,
): tf.Tensor {
  const shape = broadcastShape(a.shape, b.shape);
  const [left, right] = [spread(a, shape), spread(b, shape)];
  const results = allocate(dtype, sizeOfNew(shape, "The result of a broadcast"));
  for (let index = 0; index < results.length; index++) {
    results[index] = compute(left(index), right(index));
  }
  return tf.tensor(results, shape, dtype);
}

/** The shape that two shapes broadcast to; throws an Error if they do not. */
export function broadcastShape(a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis) => {
    const [m, n] = [a[axis - rank + a.length] ?? 1, b[axis - rank + b.length] ?? 1];
    if (m !== n && m !== 1 && n !== 1) throw new Error(`Incompatible shapes: [${a}] vs. [${b}]`);
    return m === 1 ? n : m;
  });
}

/** Reads a tensor's element at an index of the larger shape. */
function spread(x: tf.Tensor, shape: readonly number[]): (index: number) => number {
  const values = x.dataSync();
  if (values.length === 1) return () => values[0]!;
  if (values.length === elementCount(shape)) return (index) => values[index]!;
  const steps = stepsOf(x.shape, shape);
  return (index) => {
    let rest = index;
    let from = 0;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const size = shape[axis]!;
      from += (rest % size) * steps[axis]!;
      rest = Math.floor(rest / size);
    }
    return values[from]!;
  };
}

/** Distance between neighbours along each axis of the larger shape; 0 along axes that repeat. */
function stepsOf(small: readonly number[], shape: readonly number[]): number[] {
  const steps = new Array<number>(shape.length).fill(0);
  let step = 1;
  for (let axis = small.length - 1; axis >= 0; axis--) {
    if (small[axis] !== 1) steps[axis + shape.length - small.length] = step;
    step *= small[axis]!;
  }
  return steps;
}

/** Numbers in memory that TensorFlow.js takes as they are. */
export function allocate(dtype: HostDType, length: number): Float32Array | Int32Array | Uint8Array {
  if (dtype === "float32") return new Float32Array(length);
  return dtype === "int32" ? new Int32Array(length) : new Uint8Array(length);
}
