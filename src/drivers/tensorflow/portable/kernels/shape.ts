import * as tf from "@tensorflow/tfjs-core";
import { sizeOfNew } from "../../tfjs/kernel-checks.ts";
import { INTEGERS, TYPE } from "../element-types.ts";
import type { KernelFactory, KernelTable, OpNode } from "../op-node.ts";
import { asTensor, axisWithin, listOf, moveElements, numberOf, Strings, type Value } from "../values.ts";
import { broadcastShape } from "./binary.ts";

/** An operation of one tensor that only moves elements; further inputs are small tensors of numbers. */
function mover(move: (x: tf.Tensor, ...rest: Value[]) => tf.Tensor): KernelFactory {
  return () =>
    (x, ...rest) =>
      moveElements([x as Value], ([tensor]) => move(tensor as tf.Tensor, ...rest));
}

/** The shape of a tensor of numbers or strings. */
export function shapeOf(value: Value | undefined): readonly number[] {
  return value instanceof Strings ? value.shape : asTensor(value).shape;
}

function integers(values: readonly number[]): tf.Tensor {
  return tf.tensor1d(values as number[], "int32");
}

/** Nothing to compute: the value goes on. */
export const pass: KernelFactory = () => (x) => (x instanceof tf.Tensor ? x.clone() : (x as Value));

function reshape(x: tf.Tensor, shape: readonly number[]): tf.Tensor {
  const known = shape.reduce((product, size) => (size === -1 ? product : product * size), 1);
  const missing = shape.includes(-1) ? x.size / known : 0;
  // TensorFlow refuses a -1 together with a 0; a size that does not divide evenly fails in TensorFlow.js too.
  if (shape.includes(-1) && known === 0) throw new Error("reshape cannot infer the missing input size");
  return tf.reshape(
    x,
    shape.map((size) => (size === -1 ? missing : size)),
  );
}

function squeeze(node: OpNode) {
  const axes = node.integers("squeeze_dims", node.integers("axis"));
  return (x: tf.Tensor) => {
    const gone = new Set(axes.map((axis) => (axis < 0 ? axis + x.rank : axis)));
    const wrong = [...gone].find((axis) => x.shape[axis] !== 1);
    if (wrong !== undefined) throw new Error(`Can not squeeze dim[${wrong}], expected a dimension of 1`);
    const keeps = (size: number, axis: number) => (gone.size === 0 ? size !== 1 : !gone.has(axis));
    return tf.reshape(x, x.shape.filter(keeps));
  };
}

/** WebAssembly divides by the sizes. */
function transpose(x: tf.Tensor, permutation: number[]): tf.Tensor {
  const isValid =
    permutation.length === x.rank &&
    new Set(permutation).size === x.rank &&
    permutation.every((axis) => axis >= 0 && axis < x.rank);
  if (!isValid) throw new Error(`[${permutation}] is not a permutation of ${x.rank} axes`);
  return x.size > 0
    ? tf.transpose(x, permutation)
    : tf.reshape(
        x,
        permutation.map((axis) => x.shape[axis]!),
      );
}

function expandDims(x: tf.Tensor, axis: number): tf.Tensor {
  const shape = [...x.shape];
  shape.splice(axisWithin(axis, x.rank + 1), 0, 1);
  return tf.reshape(x, shape);
}

function tile(x: tf.Tensor, multiples: number[]): tf.Tensor {
  if (multiples.length === x.rank) return tf.tile(x, multiples);
  throw new Error(`Expected multiples of length ${x.rank} but got length ${multiples.length}`);
}

function reverse(x: tf.Tensor, axes: readonly number[]): tf.Tensor {
  const along = axes.map((axis) => axisWithin(axis, x.rank));
  if (new Set(along).size < along.length) throw new Error(`axis [${axes}] specified more than once.`);
  return along.length === 0 || x.size === 0 ? x.clone() : tf.reverse(x, along);
}

/** Repeats a tensor along axes of size 1. */
export function broadcastTo(x: tf.Tensor, shape: readonly number[]): tf.Tensor {
  if (broadcastShape(x.shape, shape).join() !== shape.join())
    throw new Error(`[${x.shape}] does not broadcast to [${shape}]`);
  sizeOfNew(shape, "The result of a broadcast");
  const padded = tf.reshape(x, [...new Array<number>(shape.length - x.rank).fill(1), ...x.shape]);
  return tf.tile(
    padded,
    shape.map((size, axis) => (padded.shape[axis] === size ? 1 : size)),
  );
}

function fill(dims: Value, value: Value): Value {
  const shape = listOf(dims, "dims");
  sizeOfNew(shape, "The result of Fill", value instanceof Strings);
  if (shapeOf(value).length > 0) throw new Error(`value must be a scalar, got shape [${shapeOf(value)}]`);
  return moveElements([value], ([scalar]) => broadcastTo(scalar as tf.Tensor, shape));
}

/** A shape attribute's dimensions, each of which must fit. */
function ensureShape(node: OpNode) {
  const wanted = node.shape("shape");
  return (x: Value) => {
    const shape = shapeOf(x);
    const fits =
      wanted === undefined ||
      (wanted.length === shape.length && wanted.every((size, axis) => size === -1 || size === shape[axis]));
    if (!fits)
      throw new Error(`Shape of tensor ${node.name} [${shape}] is not compatible with expected shape [${wanted}].`);
    return x instanceof tf.Tensor ? x.clone() : x;
  };
}

function range(node: OpNode) {
  node.typeOf("Tidx", new Set([TYPE.int32, TYPE.int64]), TYPE.int32);
  return (start: Value, limit: Value, delta: Value) => {
    const [from, to, step] = [numberOf(start), numberOf(limit), numberOf(delta)];
    if (step === 0) throw new Error("Requires delta != 0");
    if (step > 0 ? from > to : from < to)
      throw new Error(`Requires start and limit in the order of delta: ${from}, ${to}, ${step}`);
    const count = sizeOfNew([Math.max(0, Math.ceil((to - from) / step))], "The result of Range");
    return tf.tensor1d(
      Int32Array.from({ length: count }, (_, index) => from + index * step),
      "int32",
    );
  };
}

function checkedType(node: OpNode, name: string): void {
  node.typeOf(name, INTEGERS, TYPE.int32);
}

/** Operations on shapes, and those that move elements without looking at them. */
export const SHAPE_KERNELS: KernelTable = {
  Reshape: mover((x, shape) => reshape(x, listOf(shape, "shape"))),
  Squeeze: (node) => {
    const move = squeeze(node);
    return (x) => moveElements([x as Value], ([tensor]) => move(tensor as tf.Tensor));
  },
  ExpandDims: mover((x, axis) => expandDims(x, numberOf(axis))),
  Transpose: mover((x, permutation) => transpose(x, listOf(permutation, "perm"))),
  Tile: mover((x, multiples) => tile(x, listOf(multiples, "multiples"))),
  BroadcastTo: mover((x, shape) => broadcastTo(x, listOf(shape, "shape"))),
  ReverseV2: mover((x, axes) => reverse(x, listOf(axes, "axis"))),
  Fill: () => (dims, value) => fill(dims as Value, value as Value),
  EnsureShape: ensureShape,
  Shape: (node) => {
    checkedType(node, "out_type");
    return (x) => integers(shapeOf(x));
  },
  ShapeN: (node) => {
    checkedType(node, "out_type");
    return (...values) => values.map((x) => integers(shapeOf(x)));
  },
  Size: (node) => {
    checkedType(node, "out_type");
    return (x) =>
      tf.scalar(
        shapeOf(x).reduce((product, size) => product * size, 1),
        "int32",
      );
  },
  Rank: () => (x) => tf.scalar(shapeOf(x).length, "int32"),
  BroadcastArgs: () => (a, b) => integers(broadcastShape(listOf(a, "s0"), listOf(b, "s1"))),
  Range: range,
  ZerosLike: () => (x) => (x instanceof Strings ? emptyStrings(x) : tf.zerosLike(asTensor(x))),
  OnesLike: () => (x) => tf.onesLike(asTensor(x)),
  InvertPermutation: () => (x) => {
    const permutation = listOf(x, "x");
    const isValid = permutation.every((target, index, all) => target >= 0 && target < all.length && index >= 0);
    if (!isValid || new Set(permutation).size < permutation.length)
      throw new Error(`[${permutation}] is not a permutation of ${permutation.length} places`);
    const inverse = new Array<number>(permutation.length).fill(0);
    for (const [index, target] of permutation.entries()) inverse[target] = index;
    return integers(inverse);
  },
};

function emptyStrings({ shape, elements }: Strings): Strings {
  return new Strings(
    shape,
    elements.map(() => new Uint8Array(0)),
  );
}
