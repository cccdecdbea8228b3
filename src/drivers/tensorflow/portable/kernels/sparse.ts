import * as tf from "@tensorflow/tfjs-core";
import { sizeOfNew } from "../../tfjs/tensor-size.ts";
import { FLOATS, INTEGERS, TYPE } from "../element-types.ts";
import type { KernelFactory, KernelTable } from "../op-node.ts";
import { asTensor, listOf, moveElements, numberOf, numbersOf, Strings, type Value } from "../values.ts";
import { shapeOf } from "./shape.ts";

/** Values at their places, the default elsewhere. */
const toDense: KernelFactory = (node) => {
  const validates = node.flag("validate_indices", true);
  return (indices, shape, values, fallback) => {
    const [dims, places] = [listOf(shape, "output_shape"), numbersOf(indices)];
    const count = shapeOf(values).length === 0 ? undefined : shapeOf(values)[0];
    const rows = asTensor(indices).rank === 0 ? 1 : asTensor(indices).shape[0]!;
    if (asTensor(indices).rank > 2 || rows * dims.length !== places.length || (count ?? rows) !== rows)
      throw new Error(`sparse_indices of shape [${asTensor(indices).shape}] fit neither the values nor [${dims}]`);
    sizeOfNew(dims, "The result of SparseToDense", values instanceof Strings);
    const flat = flatPlaces(places, dims);
    if (validates && flat.some((place, index) => index > 0 && place <= flat[index - 1]!))
      throw new Error("indices are out of order or repeated");
    return moveElements([values as Value, fallback as Value], ([given, filler]) => {
      const count = (given as tf.Tensor).size;
      const sources = new Int32Array(dims.reduce((product, size) => product * size, 1)).fill(count);
      for (const [index, place] of flat.entries()) sources[place] = count === 1 ? 0 : index;
      const all = tf.concat([tf.reshape(given as tf.Tensor, [-1]), tf.reshape(filler as tf.Tensor, [1])]);
      return tf.reshape(tf.gather(all, tf.tensor1d(sources, "int32")), dims);
    });
  };
};

function flatPlaces(places: readonly number[], dims: readonly number[]): number[] {
  const depth = dims.length;
  return Array.from({ length: places.length / Math.max(depth, 1) }, (_, row) =>
    dims.reduce((flat, size, axis) => {
      const place = places[row * depth + axis]!;
      if (place < 0 || place >= size) throw new Error(`indices[${row}] is out of bounds: need 0 <= index < [${dims}]`);
      return flat * size + place;
    }, 0),
  );
}

const timesDense: KernelFactory = (node) => {
  node.typeOf("T", FLOATS);
  if (node.flag("adjoint_a", false) || node.flag("adjoint_b", false)) return node.refuse("with adjoints");
  return (indices, values, shape, dense) => {
    const [places, factors] = [numbersOf(indices), numbersOf(values)];
    const [rows = 0, inner = 0, ...more] = listOf(shape, "a_shape");
    if (more.length > 0 || places.length !== 2 * factors.length || asTensor(dense).rank !== 2)
      throw new Error("expected indices of [n,2], n values, a shape of two sizes, and a matrix");
    const [height, width = 0] = asTensor(dense).shape;
    if (height !== inner)
      throw new Error(`Cannot multiply A and B because inner dimension does not match: ${inner} vs. ${height}`);
    flatPlaces(places, [rows, inner]);
    const matrix = asTensor(dense).dataSync();
    const product = new Float32Array(sizeOfNew([rows, width], "The result of SparseTensorDenseMatMul"));
    for (const [index, factor] of factors.entries()) {
      const [row, column] = [places[2 * index]!, places[2 * index + 1]!];
      for (let at = 0; at < width; at++) {
        product[row * width + at] = product[row * width + at]! + factor * matrix[column * width + at]!;
      }
    }
    return tf.tensor(product, [rows, width]);
  };
};

/** Keeps a band around the diagonal of each matrix; a negative width keeps all on that side. */
const bandPart: KernelFactory = (node) => {
  node.typeOf("T", new Set([...FLOATS, ...INTEGERS, TYPE.bool]));
  return (x, below, above) => {
    const tensor = asTensor(x);
    const [lower, upper] = [numberOf(below), numberOf(above)];
    const [rows, columns] = tensor.shape.slice(-2) as [number, number];
    const values = tensor.dataSync().slice();
    for (let index = 0; index < values.length; index++) {
      const offset = (index % columns) - (Math.floor(index / columns) % rows);
      const isKept = (lower < 0 || -offset <= lower) && (upper < 0 || offset <= upper);
      if (!isKept) values[index] = 0;
    }
    return tf.tensor(values, tensor.shape, tensor.dtype);
  };
};

/** Matrices that are mostly empty. */
export const SPARSE_KERNELS: KernelTable = {
  SparseToDense: toDense,
  SparseTensorDenseMatMul: timesDense,
  MatrixBandPart: bandPart,
};
