import * as tf from "@tensorflow/tfjs-core";
import { sizeOfNew } from "../../tfjs/kernel-checks.ts";
import { FLOATS, highestOf, INTEGERS, integerOf, lowestOf, multiply, TYPE } from "../element-types.ts";
import type { KernelFactory, KernelTable } from "../op-node.ts";
import { asTensor, axisWithin, listOf, moveElements, numberOf, numbersOf, type Value, Variable } from "../values.ts";
import { allocate } from "./binary.ts";
import { shapeOf } from "./shape.ts";

/** Throws as TensorFlow does on the CPU; TensorFlow.js reads whatever lies there. */
function checkIndices(indices: tf.Tensor, size: number): void {
  const wrong = indices.dataSync().findIndex((index: number) => index < 0 || index >= size);
  if (wrong !== -1) throw new Error(`indices[${wrong}] = ${indices.dataSync()[wrong]} is not in [0, ${size})`);
}

/** Picks slices along an axis; throws an Error for an index beyond it. */
export function gather(params: Value, indices: Value, axis: number, batchDims: number): Value {
  const places = asTensor(indices);
  const rank = shapeOf(params).length;
  const along = axisWithin(axis, rank);
  const batches = batchDims < 0 ? batchDims + places.rank : batchDims;
  checkIndices(places, shapeOf(params)[along]!);
  return moveElements([params], ([tensor]) => tf.gather(tensor as tf.Tensor, places as tf.Tensor1D, along, batches));
}

function contentOf(handle: Value | undefined): Value {
  if (handle instanceof Variable) return handle.value;
  throw new Error("expected a variable");
}

function gatherNd(params: Value, indices: Value): Value {
  const places = asTensor(indices);
  const shape = shapeOf(params);
  const depth = depthOf(places, shape);
  const numbers = places.dataSync();
  const wrong = numbers.findIndex((index: number, position: number) => index < 0 || index >= shape[position % depth]!);
  if (wrong !== -1) throw new Error(`indices[${Math.floor(wrong / depth)}] does not index into param shape [${shape}]`);
  return moveElements([params], ([tensor]) => tf.gatherND(tensor as tf.Tensor, places));
}

/** Elements written to their places; those that meet add up. */
const scatterNd: KernelFactory = (node) => {
  node.typeOf("T", new Set([...FLOATS, TYPE.int32]));
  return (indices, updates, shape) => {
    const dims = listOf(shape, "shape");
    sizeOfNew(dims, "The result of ScatterNd");
    checkPlaces(asTensor(indices), dims);
    checkUpdates(asTensor(indices), asTensor(updates), dims);
    return tf.scatterND(asTensor(indices), asTensor(updates), dims);
  };
};

/** Positions in each row of indices. */
function depthOf({ shape: rows }: tf.Tensor, shape: readonly number[]): number {
  const depth = rows.at(-1);
  if (depth === undefined || depth > shape.length)
    throw new Error(`indices of shape [${rows}] do not index into shape [${shape}]`);
  return depth;
}

function checkPlaces(indices: tf.Tensor, shape: readonly number[]): void {
  const depth = depthOf(indices, shape);
  const wrong = indices
    .dataSync()
    .findIndex((index: number, position: number) => index < 0 || index >= shape[position % depth]!);
  if (wrong !== -1) throw new Error(`indices do not index into shape [${shape}]`);
}

/** One update for each row of indices, of the shape of what the row leaves open. */
function checkUpdates(indices: tf.Tensor, updates: tf.Tensor, shape: readonly number[]): void {
  const expected = [...indices.shape.slice(0, -1), ...shape.slice(indices.shape.at(-1))];
  if (updates.shape.join() !== expected.join())
    throw new Error(`updates must have the shape [${expected}], not [${updates.shape}]`);
}

/** The last update of a place wins, as on TensorFlow's CPU. */
const scatterUpdate: KernelFactory = () => (tensor, indices, updates) => {
  const target = asTensor(tensor);
  const places = asTensor(indices);
  checkPlaces(places, target.shape);
  checkUpdates(places, asTensor(updates), target.shape);
  const depth = places.shape.at(-1)!;
  const width = target.shape.slice(depth).reduce((product, size) => product * size, 1);
  const results = target.dataSync().slice();
  const [numbers, news] = [places.dataSync(), asTensor(updates).dataSync()];
  for (let row = 0; row * depth < numbers.length; row++) {
    let place = 0;
    for (let axis = 0; axis < depth; axis++) place = place * target.shape[axis]! + numbers[row * depth + axis]!;
    results.set(news.subarray(row * width, (row + 1) * width), place * width);
  }
  return tf.tensor(results, target.shape, target.dtype);
};

const NUMBERS: ReadonlySet<number> = new Set([...FLOATS, ...INTEGERS]);

/** Rule by which the rows of a segment become one. */
interface Gathering {
  /** Number that a segment starts from. */
  readonly start: (type: number) => number;
  readonly add: (result: number, value: number, type: number) => number;
  /** Number of a segment without rows, if segments are sorted. */
  readonly empty: number;
}

const FLOAT_LIMIT = 3.4028234663852886e38;
const limit = (type: number, ofIntegers: (type: number) => number, ofFloats: number) =>
  FLOATS.has(type) ? ofFloats : ofIntegers(type);

const SUM: Gathering = { start: () => 0, add: (result, value) => result + value, empty: 0 };
const PRODUCT: Gathering = { start: () => 1, add: multiply, empty: 1 };
const LARGEST: Gathering = {
  start: (type) => limit(type, lowestOf, -FLOAT_LIMIT),
  add: (a, b) => Math.max(a, b),
  empty: 0,
};
const SMALLEST: Gathering = {
  start: (type) => limit(type, highestOf, FLOAT_LIMIT),
  add: (a, b) => Math.min(a, b),
  empty: 0,
};

interface Segments {
  readonly ids: readonly number[];
  readonly count: number;
  readonly type: number;
}

/** Each segment's rows, gathered; those without rows start from `blank`. */
function gatherRows(
  data: tf.Tensor,
  rank: number,
  { ids, count, type }: Segments,
  { add, start }: Gathering,
  blank: number,
): tf.Tensor {
  const row = data.shape.slice(rank);
  const width = row.reduce((product, size) => product * size, 1);
  const results = new Float64Array(sizeOfNew([count, ...row], "The result of segments")).fill(blank);
  const seen = new Set<number>();
  const values = data.dataSync();
  const settle = FLOATS.has(type) ? Math.fround : integerOf(type);
  for (const [index, id] of ids.entries()) {
    if (id < 0) continue;
    if (id >= count) throw new Error(`segment_ids[${index}] = ${id} is out of range [0, ${count})`);
    if (!seen.has(id)) results.fill(start(type), id * width, (id + 1) * width);
    seen.add(id);
    for (let column = 0; column < width; column++) {
      const at = id * width + column;
      results[at] = settle(add(results[at]!, values[index * width + column]!, type));
    }
  }
  const carrier = data.dtype as "float32" | "int32";
  return tf.tensor(
    allocate(carrier, results.length).map((_, at) => settle(results[at]!)),
    [count, ...row],
    carrier,
  );
}

function unsorted(gathering: Gathering): KernelFactory {
  return (node) => {
    const type = node.typeOf("T", NUMBERS);
    return (data, ids, count) => {
      const segments = { ids: numbersOf(ids), count: numberOf(count), type };
      const { shape } = asTensor(ids);
      if (shape.some((size, axis) => size !== asTensor(data).shape[axis]))
        throw new Error(`data.shape = [${asTensor(data).shape}] does not start with segment_ids.shape = [${shape}]`);
      return gatherRows(asTensor(data), asTensor(ids).rank, segments, gathering, gathering.start(type));
    };
  };
}

function sorted(gathering: Gathering): KernelFactory {
  return (node) => {
    const type = node.typeOf("T", NUMBERS);
    return (data, ids) =>
      gatherRows(asTensor(data), 1, sortedSegments(ids, asTensor(data), type), gathering, gathering.empty);
  };
}

function sortedSegments(value: Value | undefined, data: tf.Tensor, type: number): Segments {
  const ids = listOf(value, "segment_ids");
  if (data.rank === 0 || data.shape[0] !== ids.length)
    throw new Error(`segment_ids should be the same size as dimension 0 of input: ${ids.length} and [${data.shape}]`);
  if (ids.some((id, index) => id < (ids[index - 1] ?? 0))) throw new Error("segment ids are not increasing");
  return { ids, count: ids.length === 0 ? 0 : ids.at(-1)! + 1, type };
}

const mean: KernelFactory = (node) => {
  const type = node.typeOf("T", FLOATS);
  return (data, ids) => {
    const segments = sortedSegments(ids, asTensor(data), type);
    return tf.tidy(() => {
      const sums = gatherRows(asTensor(data), 1, segments, SUM, 0);
      const ones = tf.ones([segments.ids.length, ...new Array<number>(sums.rank - 1).fill(1)]);
      return tf.div(sums, tf.maximum(gatherRows(ones, 1, segments, SUM, 0), 1));
    });
  };
};

/** Counts, or sums of weights, of each number below a size; larger numbers are left out. */
const bincount: KernelFactory = (node) => {
  const type = node.typeOf("T", new Set([TYPE.float, TYPE.double, TYPE.int32, TYPE.int64]));
  const binary = node.flag("binary_output", false);
  return (input, size, weights) => {
    const [x, bins] = [asTensor(input), numberOf(size)];
    const [values, factors] = [numbersOf(x), numbersOf(weights)];
    if (values.some((value) => value < 0)) throw new Error("Input arr must be non-negative!");
    if (x.rank > 2 || (factors.length > 0 && factors.length !== values.length))
      throw new Error(`expected at most two dimensions, and as many weights as numbers: [${x.shape}]`);
    const rows = x.rank === 2 ? x.shape[0]! : 1;
    const width = values.length / Math.max(rows, 1);
    const carrier = FLOATS.has(type) ? "float32" : "int32";
    const results = allocate(carrier, sizeOfNew([rows, bins], "The result of DenseBincount"));
    for (const [index, value] of values.entries()) {
      const at = Math.floor(index / width) * bins + value;
      if (value < bins) results[at] = binary ? 1 : results[at]! + (factors[index] ?? 1);
    }
    return tf.tensor(results, x.rank === 2 ? [rows, bins] : [bins], carrier);
  };
};

/** Between which boundaries each number lies; one that is a boundary lies above it. */
const bucketize: KernelFactory = (node) => {
  node.typeOf("T", new Set([TYPE.float, TYPE.int32, TYPE.int64]));
  const boundaries = node.floats("boundaries");
  return (x) => {
    const places = numbersOf(x).map((value) => {
      const place = boundaries.findIndex((boundary) => value < boundary);
      return place === -1 ? boundaries.length : place;
    });
    return tf.tensor(places, asTensor(x).shape, "int32");
  };
};

/** Operations that pick and place elements by index, and sums and counts of groups of rows. */
export const GATHER_KERNELS: KernelTable = {
  GatherV2: (node) => {
    const batchDims = node.integer("batch_dims", 0);
    return (params, indices, axis) => gather(params as Value, indices as Value, numberOf(axis), batchDims);
  },
  Gather: () => (params, indices) => gather(params as Value, indices as Value, 0, 0),
  ResourceGather: (node) => {
    const batchDims = node.integer("batch_dims", 0);
    return (handle, indices) => gather(contentOf(handle), indices as Value, batchDims, batchDims);
  },
  GatherNd: () => (params, indices) => gatherNd(params as Value, indices as Value),
  ResourceGatherNd: () => (handle, indices) => gatherNd(contentOf(handle), indices as Value),
  ScatterNd: scatterNd,
  TensorScatterUpdate: scatterUpdate,
  UnsortedSegmentSum: unsorted(SUM),
  UnsortedSegmentProd: unsorted(PRODUCT),
  UnsortedSegmentMax: unsorted(LARGEST),
  UnsortedSegmentMin: unsorted(SMALLEST),
  SegmentSum: sorted(SUM),
  SegmentProd: sorted(PRODUCT),
  SegmentMax: sorted(LARGEST),
  SegmentMin: sorted(SMALLEST),
  SegmentMean: mean,
  DenseBincount: bincount,
  Bucketize: bucketize,
};
