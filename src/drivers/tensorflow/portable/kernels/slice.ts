import * as tf from "@tensorflow/tfjs-core";
import { sizeOfNew } from "../../tfjs/tensor-size.ts";
import type { KernelFactory, KernelTable } from "../op-node.ts";
import { asTensor, axisWithin, listOf, moveElements, numberOf, numbersOf, type Value } from "../values.ts";

function join(values: readonly Value[], axis: number): Value {
  // TensorFlow lets an empty list of rank 1 join anything; here the shapes must fit.
  return moveElements(values, (tensors) => tf.concat(tensors, axisWithin(axis, tensors[0]!.rank)));
}

const concatV2: KernelFactory =
  () =>
  (...inputs) =>
    join(inputs.slice(0, -1), numberOf(inputs.at(-1)));
const concat: KernelFactory =
  () =>
  (axis, ...inputs) =>
    join(inputs, numberOf(axis));

const pack: KernelFactory = (node) => {
  const axis = node.integer("axis", 0);
  return (...inputs) =>
    moveElements(inputs, (tensors) => tf.stack(tensors, axis < 0 ? axis + tensors[0]!.rank + 1 : axis));
};

const unpack: KernelFactory = (node) => {
  const [axis, count] = [node.integer("axis", 0), node.integer("num")];
  return (x) =>
    moveElements([x as Value], ([tensor]) => {
      const whole = tensor as tf.Tensor;
      const along = axisWithin(axis, whole.rank);
      if (whole.shape[along] !== count)
        throw new Error(`Input shape axis ${along} must equal ${count}, got shape [${whole.shape}]`);
      return tf.unstack(whole, along);
    });
};

const split: KernelFactory = (node) => {
  const count = node.integer("num_split");
  return (axis, x) =>
    moveElements([x as Value], ([tensor]) => {
      const along = axisWithin(numberOf(axis), (tensor as tf.Tensor).rank);
      return tf.split(tensor as tf.Tensor, count, along);
    });
};

const splitV: KernelFactory = () => (x, sizes, axis) =>
  moveElements([x as Value], ([tensor]) => {
    const along = axisWithin(numberOf(axis), (tensor as tf.Tensor).rank);
    const total = (tensor as tf.Tensor).shape[along]!;
    const given = numbersOf(sizes);
    const rest = total - given.reduce((sum, size) => (size === -1 ? sum : sum + size), 0);
    const whole = given.map((size) => (size === -1 ? rest : size));
    if (whole.reduce((sum, size) => sum + size, 0) !== total || rest < 0) {
      throw new Error(`Determined shape must match input shape along split_dim ${total}, but got [${given}]`);
    }
    return tf.split(tensor as tf.Tensor, whole, along);
  });

const slice: KernelFactory = () => (x, begin, size) =>
  moveElements([x as Value], ([tensor]) => {
    const { shape } = tensor as tf.Tensor;
    const starts = listOf(begin, "begin");
    const lengths = listOf(size, "size");
    if (starts.length !== shape.length || lengths.length !== shape.length)
      throw new Error(
        `Expected begin and size to have ${shape.length} elements, not ${starts.length} and ${lengths.length}`,
      );
    const sizes = lengths.map((length, axis) => (length === -1 ? shape[axis]! - starts[axis]! : length));
    const wrong = starts.findIndex(
      (start, axis) => start < 0 || sizes[axis]! < 0 || start + sizes[axis]! > shape[axis]!,
    );
    if (wrong !== -1)
      throw new Error(
        `Expected begin[${wrong}] and size[${wrong}] within dimension ${shape[wrong]}, got ${starts[wrong]} and ${sizes[wrong]}`,
      );
    return tf.slice(tensor as tf.Tensor, starts, sizes);
  });

const pad: KernelFactory = () => (x, paddings, value) => {
  const [tensor, pairs] = [asTensor(x), pairsOf(paddings)];
  const fill = value === undefined ? 0 : numberOf(value);
  checkPaddings(pairs, asTensor(paddings).shape, tensor.shape);
  if (tensor.size === 0) {
    const shape = tensor.shape.map((size, axis) => size + pairs[axis]![0] + pairs[axis]![1]);
    sizeOfNew(shape, "The result of Pad");
    return tf.cast(tf.fill(shape, fill), tensor.dtype);
  }
  if (!Number.isNaN(fill)) return tf.pad(tensor, pairs, fill);
  // TensorFlow.js takes NaN for no number at all.
  return tf.tidy(() => tf.where(tf.pad(tf.onesLike(tensor), pairs).cast("bool"), tf.pad(tensor, pairs), Number.NaN));
};

const mirrorPad: KernelFactory = (node) => {
  const mode = node.text("mode").toLowerCase() as "reflect" | "symmetric";
  return (x, paddings) => {
    const [tensor, pairs] = [asTensor(x), pairsOf(paddings)];
    checkPaddings(pairs, asTensor(paddings).shape, tensor.shape);
    const edge = mode === "reflect" ? 1 : 0;
    const wrong = pairs.findIndex((pair, axis) => Math.max(...pair) > Math.max(tensor.shape[axis]! - edge, 0));
    if (wrong !== -1)
      throw new Error(
        `paddings must be no greater than the dimension size: [${pairs[wrong]}] of ${tensor.shape[wrong]}`,
      );
    return tensor.size === 0 ? tensor.clone() : tf.mirrorPad(tensor, pairs, mode);
  };
};

function checkPaddings(pairs: readonly [number, number][], shape: readonly number[], sizes: readonly number[]): void {
  if (shape.length !== 2 || shape[1] !== 2 || shape[0] !== sizes.length)
    throw new Error(`paddings must be a matrix of [${sizes.length},2], not [${shape}]`);
  if (pairs.flat().some((count) => count < 0)) throw new Error(`paddings must be non-negative, not [${pairs}]`);
}

/** Numbers before and after each axis. */
export function pairsOf(value: Value | undefined): [number, number][] {
  const numbers = numbersOf(value);
  return Array.from({ length: numbers.length / 2 }, (_, axis) => [numbers[2 * axis]!, numbers[2 * axis + 1]!]);
}

/** Operations that cut, join and pad. */
export const SLICE_KERNELS: KernelTable = {
  ConcatV2: concatV2,
  Concat: concat,
  Pack: pack,
  Unpack: unpack,
  Split: split,
  SplitV: splitV,
  Slice: slice,
  Pad: pad,
  PadV2: pad,
  MirrorPad: mirrorPad,
};
