import * as tf from "@tensorflow/tfjs-core";
import { moveElements } from "../move-elements.ts";
import type { KernelFactory, KernelTable } from "../op-node.ts";
import { asTensor, numberOf, numbersOf, type Value } from "../values.ts";

function axisOf(axis: number, rank: number): number {
  const resolved = axis < 0 ? axis + rank : axis;
  if (resolved >= 0 && resolved < rank) return resolved;
  throw new Error(`Axis ${axis} is not within [-${rank}, ${rank})`);
}

function join(values: readonly Value[], axis: number): Value {
  // TensorFlow lets an empty list of rank 1 join anything; here the shapes must fit.
  return moveElements(values, (tensors) => tf.concat(tensors, axisOf(axis, tensors[0]!.rank)));
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
      const along = axisOf(axis, whole.rank);
      if (whole.shape[along] !== count)
        throw new Error(`Input shape axis ${along} must equal ${count}, got shape [${whole.shape}]`);
      return tf.unstack(whole, along);
    });
};

const split: KernelFactory = (node) => {
  const count = node.integer("num_split");
  return (axis, x) =>
    moveElements([x as Value], ([tensor]) => {
      const along = axisOf(numberOf(axis), (tensor as tf.Tensor).rank);
      return tf.split(tensor as tf.Tensor, count, along);
    });
};

const splitV: KernelFactory = () => (x, sizes, axis) =>
  moveElements([x as Value], ([tensor]) => {
    const along = axisOf(numberOf(axis), (tensor as tf.Tensor).rank);
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
    const starts = numbersOf(begin);
    const sizes = numbersOf(size).map((length, axis) => (length === -1 ? shape[axis]! - starts[axis]! : length));
    const wrong = starts.findIndex((start, axis) => start < 0 || start + sizes[axis]! > shape[axis]!);
    if (wrong !== -1)
      throw new Error(
        `Expected begin[${wrong}] and size[${wrong}] within dimension ${shape[wrong]}, got ${starts[wrong]} and ${sizes[wrong]}`,
      );
    return tf.slice(tensor as tf.Tensor, starts, sizes);
  });

const pad: KernelFactory = () => (x, paddings, value) => {
  const [tensor, pairs] = [asTensor(x), pairsOf(paddings)];
  const fill = value === undefined ? 0 : numberOf(value);
  if (!Number.isNaN(fill)) return tf.pad(tensor, pairs, fill);
  // TensorFlow.js takes NaN for no number at all.
  return tf.tidy(() => tf.where(tf.pad(tf.onesLike(tensor), pairs).cast("bool"), tf.pad(tensor, pairs), Number.NaN));
};

const mirrorPad: KernelFactory = (node) => {
  const mode = node.text("mode").toLowerCase() as "reflect" | "symmetric";
  return (x, paddings) => tf.mirrorPad(asTensor(x), pairsOf(paddings), mode);
};

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
