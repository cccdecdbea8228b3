import * as tf from "@tensorflow/tfjs-core";
import { sizeOfNew } from "../../tfjs/tensor-size.ts";
import { FLOATS, TYPE } from "../element-types.ts";
import type { KernelFactory, KernelTable } from "../op-node.ts";
import { asTensor, axisWithin, listOf, moveElements, numberOf, type Value, Variable } from "../values.ts";
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

/** Operations that pick and place elements by index. */
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
};
