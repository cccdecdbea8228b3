import * as tf from "@tensorflow/tfjs-core";
import { sizeOfNew } from "../../tfjs/kernel-checks.ts";
import { FLOATS, highestOf, INTEGERS, integerOf, lowestOf, multiply, TYPE } from "../element-types.ts";
import type { KernelFactory, KernelTable } from "../op-node.ts";
import { asTensor, axisWithin, numberOf, numbersOf, type Value } from "../values.ts";

const FLOATS_AND_INTEGERS: ReadonlySet<number> = new Set([...FLOATS, ...INTEGERS]);

type Reduce = (x: tf.Tensor, axes: number[], keepDims: boolean) => tf.Tensor;

/** Reduction of integers in JavaScript: the result of nothing, and the way to add one more. */
interface IntegerReduction {
  readonly start: number | ((type: number) => number);
  readonly add: (result: number, value: number, type: number) => number;
}

/** `ofNothing` is what the sum (say) of no floats is. */
function reduction(ofFloats: Reduce, ofNothing: number, ofIntegers?: IntegerReduction): KernelFactory {
  return (node) => {
    const type = node.typeOf("T", ofIntegers ? FLOATS_AND_INTEGERS : FLOATS);
    const keepDims = node.flag("keep_dims", false);
    if (FLOATS.has(type)) return (x, axes) => reduce(ofFloats, ofNothing, { x, axes, keepDims });
    const wrap = integerOf(type);
    const { start, add } = ofIntegers as IntegerReduction;
    const first = typeof start === "number" ? start : start(type);
    return (x, axes) =>
      reduceRows(asTensor(x), { axes: numbersOf(axes), keepDims, carrier: "int32" }, (row) =>
        row.length === 0 ? wrap(first) : row.reduce((result, value) => wrap(add(result, value, type)), first),
      );
  };
}

/** Axes and functions of {@link reduceRows}. */
interface RowReduction {
  readonly axes: readonly number[];
  readonly keepDims: boolean;
  readonly carrier: "float32" | "int32" | "bool";
}

/** Numbers along the reduced axes: a Float32Array, or an Int32Array. */
type Row = Int32Array;

/** Reduces what lies along the axes to one number each, in JavaScript. */
function reduceRows(
  x: tf.Tensor,
  { axes, keepDims, carrier }: RowReduction,
  reduceRow: (row: Row) => number,
): tf.Tensor {
  return tf.tidy(() => {
    const gone = new Set(axesWithin(axes, x.rank));
    const kept = x.shape.map((_, axis) => axis).filter((axis) => !gone.has(axis));
    const order = [...kept, ...[...gone].sort((a, b) => a - b)];
    const values = (x.size === 0 ? new Int32Array(0) : tf.transpose(x, order).dataSync()) as Row;
    const width = [...gone].reduce((size, axis) => size * x.shape[axis]!, 1);
    const count = sizeOfNew(
      kept.map((axis) => x.shape[axis]!),
      "The result of a reduction",
    );
    const results = Array.from({ length: count }, (_, row) =>
      reduceRow(values.subarray(row * width, (row + 1) * width)),
    );
    const shape = x.shape.map((size, axis) => (gone.has(axis) ? 1 : size));
    return tf.tensor(results, keepDims ? shape : kept.map((axis) => x.shape[axis]!), carrier);
  });
}

function axesWithin(axes: readonly number[], rank: number): number[] {
  const along = axes.map((axis) => axisWithin(axis, rank));
  if (new Set(along).size === along.length) return along;
  throw new Error(`Axes contains duplicate dimension: [${axes}]`);
}

/** One reduction of floats or booleans. */
interface Reducing {
  readonly x: Value | undefined;
  readonly axes: Value | undefined;
  readonly keepDims: boolean;
}

/** WebAssembly leaves the reduction of nothing to whatever lies in its memory. */
function reduce(compute: Reduce, ofNothing: number, { x, axes, keepDims }: Reducing): tf.Tensor {
  const tensor = asTensor(x);
  const along = axesWithin(numbersOf(axes), tensor.rank);
  if (tensor.size > 0) return compute(tensor, along, keepDims);
  const carrier = tensor.dtype as "float32" | "bool";
  return reduceRows(tensor, { axes: along, keepDims, carrier }, () => ofNothing);
}

/** TensorFlow gives NaN if there is one; WebAssembly's comparisons skip it. */
function extreme(compute: Reduce): Reduce {
  return (x, axes, keepDims) => withNan(compute, x, axes, keepDims);
}

function withNan(compute: Reduce, x: tf.Tensor, axes: number[], keepDims: boolean): tf.Tensor {
  return tf.tidy(() => {
    const result = compute(x, axes, keepDims);
    // A sum is NaN if a NaN is, and if infinities of both signs meet.
    const poison = tf.sum(tf.mul(x, 0), axes, keepDims);
    if (!poison.dataSync().some(Number.isNaN)) return result;
    const hasNan = tf.any(tf.isNaN(x), axes, keepDims);
    return tf.where(hasNan, tf.fill(result.shape, Number.NaN), result);
  });
}

function logical(compute: Reduce, ofNothing: number): KernelFactory {
  return (node) => {
    const keepDims = node.flag("keep_dims", false);
    return (x, axes) => reduce(compute, ofNothing, { x, axes, keepDims });
  };
}

/** The place of the first largest number (`sign` 1) or smallest (-1); a NaN never is, nor does it hide others. */
function argument(sign: 1 | -1): KernelFactory {
  return (node) => {
    node.typeOf("T", new Set([...FLOATS_AND_INTEGERS, TYPE.bool]));
    node.typeOf("output_type", INTEGERS, TYPE.int64);
    return (x, axis) => {
      const numbers = asTensor(x).dtype === "bool" ? tf.cast(asTensor(x), "int32") : asTensor(x);
      if (numbers.shape.at(numberOf(axis)) === 0) throw new Error("Reduction axis is empty");
      return reduceRows(numbers, { axes: [numberOf(axis)], keepDims: false, carrier: "int32" }, (row) =>
        indexOfExtreme(row, sign),
      );
    };
  };
}

function indexOfExtreme(row: Row, sign: 1 | -1): number {
  let best = 0;
  let bestValue = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < row.length; index++) {
    const value = sign * row[index]!;
    if (value > bestValue) [best, bestValue] = [index, value];
  }
  return best;
}

function cumulation(ofFloats: typeof tf.cumsum, { start, add }: IntegerReduction & { start: number }): KernelFactory {
  return (node) => {
    const type = node.typeOf("T", FLOATS_AND_INTEGERS);
    const [exclusive, reverse] = [node.flag("exclusive", false), node.flag("reverse", false)];
    if (FLOATS.has(type))
      return (x, axis) => {
        const tensor = asTensor(x);
        // TensorFlow.js would never end if the axis is beyond the tensor.
        const along = axisWithin(numberOf(axis), tensor.rank);
        return tensor.size === 0 ? tensor.clone() : ofFloats(tensor, along, exclusive, reverse);
      };
    const wrap = integerOf(type);
    const next = (result: number, value: number) => wrap(add(result, value, type));
    return (x, axis) => runAlong(asTensor(x), numberOf(axis), { start, next, exclusive, reverse });
  };
}

interface Running {
  readonly start: number;
  readonly next: (result: number, value: number) => number;
  readonly exclusive: boolean;
  readonly reverse: boolean;
}

/** Each integer along an axis with those before it. */
function runAlong(x: tf.Tensor, axis: number, { start, next, exclusive, reverse }: Running): tf.Tensor {
  const along = axisWithin(axis, x.rank);
  const step = x.shape.slice(along + 1).reduce((product, size) => product * size, 1);
  const length = x.shape[along]!;
  const values = x.dataSync();
  const results = new Int32Array(values.length);
  for (let line = 0; line < values.length / Math.max(length, 1); line++) {
    const first = Math.floor(line / step) * length * step + (line % step);
    let running = start;
    for (let index = 0; index < length; index++) {
      const at = first + (reverse ? length - 1 - index : index) * step;
      const before = running;
      running = next(running, values[at]!);
      results[at] = exclusive ? before : running;
    }
  }
  return tf.tensor(results, x.shape, "int32");
}

const { NEGATIVE_INFINITY, POSITIVE_INFINITY, NaN: NAN } = Number;

/** Checks that neither NaN nor an infinity is among a tensor's numbers. */
export function areFinite(x: tf.Tensor): boolean {
  return tf.tidy(() => tf.sum(tf.mul(x, 0)).dataSync()[0]) === 0;
}

/** By WebAssembly for finite numbers; it loses rows with infinities, which masks of attention have. */
function alongRows(
  quick: (x: tf.Tensor) => tf.Tensor,
  exact: (row: Float32Array, type: number) => Float32Array,
): KernelFactory {
  return (node) => {
    const type = node.typeOf("T", FLOATS);
    return (x) => {
      const logits = asTensor(x);
      if (logits.size === 0) return logits.clone();
      if (areFinite(logits)) return quick(logits);
      const width = logits.shape.at(-1)!;
      const values = logits.dataSync() as Float32Array;
      const results = new Float32Array(values.length);
      for (let start = 0; start < values.length; start += width)
        results.set(exact(values.subarray(start, start + width), type), start);
      return tf.tensor(results, logits.shape);
    };
  };
}

function softmax(row: Float32Array, type: number): Float32Array {
  // What TensorFlow computes of float32 with oneDNN keeps such numbers to themselves.
  if (type === TYPE.float && row.some(isBeyond)) return row.map((value) => (isBeyond(value) ? Number.NaN : 0));
  const powers = shifted(row).map(Math.exp);
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

function isBeyond(value: number): boolean {
  return Number.isNaN(value) || value === Number.POSITIVE_INFINITY;
}

function logSoftmax(row: Float32Array): Float32Array {
  const differences = shifted(row);
  const logarithm = Math.log(differences.reduce((total, difference) => total + Math.exp(difference), 0));
  return differences.map((difference) => difference - logarithm);
}

function shifted(row: Float32Array): Float32Array {
  const largest = row.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
  return row.map((value) => value - largest);
}

/** Operations along axes: sums and the like, and probabilities. */
export const REDUCE_KERNELS: KernelTable = {
  Sum: reduction(tf.sum, 0, { start: 0, add: (result, value) => result + value }),
  Prod: reduction(tf.prod, 1, { start: 1, add: multiply }),
  Max: reduction(extreme(tf.max), NEGATIVE_INFINITY, { start: lowestOf, add: (a, b) => Math.max(a, b) }),
  Min: reduction(extreme(tf.min), POSITIVE_INFINITY, { start: highestOf, add: (a, b) => Math.min(a, b) }),
  Mean: reduction(tf.mean, NAN),
  EuclideanNorm: reduction((x, axes, keepDims) => tf.sqrt(tf.sum(tf.square(x), axes, keepDims)), 0),
  All: logical(tf.all, 1),
  Any: logical(tf.any, 0),
  ArgMax: argument(1),
  ArgMin: argument(-1),
  Cumsum: cumulation(tf.cumsum, { start: 0, add: (result, value) => result + value }),
  Cumprod: cumulation(tf.cumprod, { start: 1, add: multiply }),
  Softmax: alongRows((x) => tf.softmax(x), softmax),
  LogSoftmax: alongRows((x) => tf.logSoftmax(x), logSoftmax),
};
