import * as tf from "@tensorflow/tfjs-core";
import type { KernelFactory, KernelTable, OpNode } from "../op-node.ts";
import { listOf, moveElements, type Value } from "../values.ts";

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

/** The entries of a slice: where to begin, end, and how far to step. */
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

/** Slices by begin, end and stride. */
export const STRIDED_SLICE_KERNELS: KernelTable = { StridedSlice: stridedSlice };
