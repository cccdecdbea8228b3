import * as tf from "@tensorflow/tfjs-core";
import { sizeOfNew } from "../../tfjs/kernel-checks.ts";
import type { KernelFactory, KernelTable, OpNode } from "../op-node.ts";
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

/** The attributes of a strided slice; bit i of each is for entry i. */
interface Masks {
  readonly begin: number;
  readonly end: number;
  readonly ellipsis: number;
  readonly newAxis: number;
  readonly shrink: number;
}

/** One axis of the tensor: which of its places are taken, and whether it stays an axis. */
interface AxisSlice {
  readonly places: readonly number[];
  readonly kept: boolean;
}

/** The entries of a slice: begins, ends, steps. */
interface Entries {
  readonly begin: readonly number[];
  readonly end: readonly number[];
  readonly strides: readonly number[];
}

const stridedSlice: KernelFactory = (node) => {
  const masks = readMasks(node);
  return (x, begin, end, strides) =>
    moveElements([x as Value], ([tensor]) => {
      const entries = { begin: listOf(begin, "begin"), end: listOf(end, "end"), strides: listOf(strides, "strides") };
      const { length } = entries.begin;
      if (entries.end.length !== length || entries.strides.length !== length)
        throw new Error("Expected begin, end, and strides to be 1D equal size tensors");
      const { axes, shape } = resolve((tensor as tf.Tensor).shape, entries, masks);
      return tf.tidy(() => tf.reshape(take(tensor as tf.Tensor, axes), [...shape]));
    });
};

function readMasks(node: OpNode): Masks {
  const mask = (name: string) => node.integer(`${name}_mask`, 0);
  return {
    begin: mask("begin"),
    end: mask("end"),
    ellipsis: mask("ellipsis"),
    newAxis: mask("new_axis"),
    shrink: mask("shrink_axis"),
  };
}

/** The slice of each axis, and the shape of the result; new axes are in the shape alone. */
function resolve(dims: readonly number[], entries: Entries, masks: Masks): { axes: AxisSlice[]; shape: number[] } {
  const axes: AxisSlice[] = [];
  const shape: number[] = [];
  const count = entries.begin.length;
  const isSet = (mask: number, entry: number) => (mask & (1 << entry)) !== 0;
  const whole = () => {
    const size = dims[axes.length]!;
    axes.push({ places: range(size), kept: true });
    shape.push(size);
  };
  for (let entry = 0; entry < count; entry++) {
    if (isSet(masks.ellipsis, entry)) {
      const rest = range(count).filter((later) => later > entry && !isSet(masks.newAxis, later)).length;
      while (axes.length < dims.length - rest) whole();
    } else if (isSet(masks.newAxis, entry)) {
      shape.push(1);
    } else {
      const axis = sliceAxis(dims, axes.length, { entry, entries, masks });
      axes.push(axis);
      if (axis.kept) shape.push(axis.places.length);
    }
  }
  while (axes.length < dims.length) whole();
  return { axes, shape };
}

interface Place {
  readonly entry: number;
  readonly entries: Entries;
  readonly masks: Masks;
}

function sliceAxis(dims: readonly number[], axis: number, { entry, entries, masks }: Place): AxisSlice {
  const size = dims[axis];
  if (size === undefined)
    throw new Error(`Index out of range using input dim ${axis}; input has only ${dims.length} dims`);
  const [begin, end, stride] = [entries.begin, entries.end, entries.strides].map((list) => list[entry]!) as [
    number,
    number,
    number,
  ];
  const bit = 1 << entry;
  if (stride === 0) throw new Error(`strides[${entry}] must be non-zero`);
  if (masks.shrink & bit && stride < 0) throw new Error("only stride 1 allowed on non-range indexing.");
  if (masks.shrink & bit) return { places: [placeWithin(begin, size, axis)], kept: false };
  const forward = stride > 0;
  const [lowest, highest] = forward ? [0, size] : [-1, size - 1];
  const clamp = (index: number) => Math.min(Math.max(index < 0 ? index + size : index, lowest), highest);
  const from = masks.begin & bit ? (forward ? lowest : highest) : clamp(begin);
  const to = masks.end & bit ? (forward ? highest : lowest) : clamp(end);
  const length = Math.max(0, Math.ceil((to - from) / stride));
  return { places: range(length).map((step) => from + step * stride), kept: true };
}

function placeWithin(index: number, size: number, axis: number): number {
  const place = index < 0 ? index + size : index;
  if (place >= 0 && place < size) return place;
  throw new Error(`slice index ${index} of dimension ${axis} out of bounds.`);
}

/** Neighbours are cut out at once; anything else is gathered. */
function take(tensor: tf.Tensor, axes: readonly AxisSlice[]): tf.Tensor {
  if (axes.some(({ places }) => places.length === 0))
    return tf.zeros(
      axes.map(({ places }) => places.length),
      tensor.dtype,
    );
  const isRun = ({ places }: AxisSlice) => places.every((place, index) => place === places[0]! + index);
  const [begin, size] = [
    axes.map((axis) => (isRun(axis) ? axis.places[0]! : 0)),
    axes.map((axis, index) => (isRun(axis) ? axis.places.length : tensor.shape[index]!)),
  ];
  const cut = tensor.rank === 0 ? tensor : tf.slice(tensor, begin, size);
  return axes.reduce((result, axis, index) => (isRun(axis) ? result : tf.gather(result, [...axis.places], index)), cut);
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
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
  StridedSlice: stridedSlice,
};
