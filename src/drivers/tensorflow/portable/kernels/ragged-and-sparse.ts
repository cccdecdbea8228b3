import * as tf from "@tensorflow/tfjs-core";
import { elementCount } from "../../../../tensor/tensor.ts";
import { sizeOfNew } from "../../tfjs/kernel-checks.ts";
import { FLOATS, INTEGERS, TYPE } from "../element-types.ts";
import type { KernelFactory, KernelTable } from "../op-node.ts";
import { asStrings, asTensor, listOf, moveElements, numberOf, numbersOf, Strings, type Value } from "../values.ts";
import { shapeOf } from "./shape.ts";

const WHITE = /[ \t\n\v\f\r]+/;

/** One string's parts, as latin-1 text. */
function splitText(text: string, separator: string, most: number): string[] {
  if (separator === "") {
    const words = text.split(WHITE).filter((word) => word !== "");
    return words;
  }
  const parts = text.split(separator);
  return most < 0 || parts.length <= most + 1 ? parts : [...parts.slice(0, most), parts.slice(most).join(separator)];
}

const stringSplit: KernelFactory = (node) => {
  const most = node.integer("maxsplit", -1);
  return (input, separator) => {
    const delimiter = Buffer.from(asStrings(separator).elements[0]!).toString("latin1");
    if (delimiter === "" && most >= 0) throw new Error("maxsplit with white space is not known here");
    const rows = asStrings(input).elements.map((element) =>
      splitText(Buffer.from(element).toString("latin1"), delimiter, most),
    );
    const places = rows.flatMap((row, index) => row.flatMap((_, position) => [index, position]));
    const parts = rows.flat().map((part) => new Uint8Array(Buffer.from(part, "latin1")));
    const widest = rows.reduce((width, row) => Math.max(width, row.length), 0);
    return [
      tf.tensor(places, [parts.length, 2], "int32"),
      new Strings([parts.length], parts),
      tf.tensor1d([rows.length, widest], "int32"),
    ];
  };
};

/** Beginning and end of each row of a ragged dimension in the next; one entry more than rows. */
type RowSplits = readonly number[];

const raggedToTensor: KernelFactory = (node) => {
  const kinds = node.texts("row_partition_types");
  const bySplits = kinds.every((kind) => kind === "ROW_SPLITS");
  const byRows = kinds[0] === "FIRST_DIM_SIZE" && kinds.slice(1).every((kind) => kind === "VALUE_ROWIDS");
  if (!bySplits && !byRows) return node.refuse(`of partitions ${kinds}`);
  return (shape, values, fallback, ...partitions) => {
    if (shapeOf(fallback).length > 0) throw new Error("a default value of more than one element is not known here");
    const numbers = partitions.map(numbersOf);
    const splits = bySplits ? numbers : splitsOfRows(numbers);
    checkSplits(splits, shapeOf(values)[0] ?? 0);
    const wanted = shapeFor(shape as Value, splits.length + shapeOf(values).length, shapeOf(values).slice(1));
    return spread(values as Value, {
      fallback: fallback as Value,
      splits,
      wanted,
    });
  };
};

/** From the number of rows, then for each dimension the row of every value. */
function splitsOfRows([first, ...rest]: readonly number[][]): RowSplits[] {
  let rows = first?.[0] ?? 0;
  if (first?.length !== 1 || rows < 0) throw new Error("the number of rows must be one number of 0 or more");
  return rest.map((rowIds) => {
    if (rowIds.some((row, index) => row < (rowIds[index - 1] ?? 0) || row >= rows))
      throw new Error(`row ids are not in order, or not below ${rows}`);
    const splits = new Array<number>(sizeOfNew([rows + 1], "A list of rows", true)).fill(0);
    for (const row of rowIds) splits[row + 1] = splits[row + 1]! + 1;
    for (let row = 0; row < rows; row++) splits[row + 1] = splits[row + 1]! + splits[row]!;
    rows = rowIds.length;
    return splits;
  });
}

/** The sizes that are wanted: -1 alone for any, else as many as the result has, the last ones those of the values. */
function shapeFor(value: Value, rank: number, inner: readonly number[]): readonly number[] {
  if (asTensor(value).rank === 0 && numberOf(value) === -1) return [];
  const wanted = listOf(value, "shape");
  const fits = (size: number, axis: number) => size === -1 || size === (inner[axis - rank + inner.length] ?? size);
  if (wanted.length === rank && wanted.every((size, axis) => size >= -1 && fits(size, axis))) return wanted;
  throw new Error(`a shape of [${wanted}] does not fit rows of [${inner}] in ${rank} dimensions`);
}

/** Each dimension's rows follow each other, and end with the next dimension. */
function checkSplits(splits: readonly RowSplits[], values: number): void {
  for (const [dimension, rows] of splits.entries()) {
    const count = splits[dimension + 1] === undefined ? values : splits[dimension + 1]!.length - 1;
    const isOrdered = rows.every((end, index) => end >= (rows[index - 1] ?? 0));
    if (rows.length === 0 || rows[0] !== 0 || !isOrdered || rows.at(-1) !== count)
      throw new Error(`row partition ${dimension} is not one of ${count} values`);
  }
}

interface Spreading {
  readonly fallback: Value;
  readonly splits: readonly RowSplits[];
  /** Dimensions of the result, -1 if the longest row decides. */
  readonly wanted: readonly number[];
}

/** Lays rows side by side; the default value fills the rest. */
function spread(values: Value, { fallback, splits, wanted }: Spreading): Value {
  const inner = shapeOf(values).slice(1);
  const natural = [splits[0]!.length - 1, ...splits.map(longest)];
  const outer = natural.map((size, axis) => ((wanted[axis] ?? -1) === -1 ? size : wanted[axis]!));
  const count = shapeOf(values)[0]!;
  // The default stands behind the values.
  sizeOfNew([...outer, ...inner], "The result of RaggedTensorToTensor", values instanceof Strings);
  const places = new Int32Array(elementCount(outer)).fill(count);
  place(places, { outer, splits, axis: 0, row: 0, at: 0 }, natural[0]!);
  return moveElements([values, fallback], ([rows, filler]) => {
    const last = tf.broadcastTo(filler as tf.Tensor, [1, ...inner]);
    const all = tf.concat([rows as tf.Tensor, last], 0);
    return tf.reshape(tf.gather(all, tf.tensor1d(places, "int32")), [...outer, ...inner]);
  });
}

interface Cell {
  readonly outer: readonly number[];
  readonly splits: readonly RowSplits[];
  readonly axis: number;
  /** The first row or value of this cell. */
  readonly row: number;
  /** Its place in the result, counted in cells of this axis. */
  readonly at: number;
}

function place(places: Int32Array, { outer, splits, axis, row, at }: Cell, length: number): void {
  const size = outer[axis]!;
  for (let index = 0; index < Math.min(length, size); index++) {
    const [next, target] = [row + index, at * size + index];
    const split = splits[axis];
    if (split === undefined) places[target] = next;
    else {
      const start = split[next]!;
      place(places, { outer, splits, axis: axis + 1, row: start, at: target }, split[next + 1]! - start);
    }
  }
}

function longest(splits: RowSplits): number {
  return splits.slice(1).reduce((most, end, row) => Math.max(most, end - splits[row]!), 0);
}

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

/** Rows of different lengths, and values given by their places. */
export const RAGGED_AND_SPARSE_KERNELS: KernelTable = {
  StringSplitV2: stringSplit,
  RaggedTensorToTensor: raggedToTensor,
  SparseToDense: toDense,
  SparseTensorDenseMatMul: timesDense,
  MatrixBandPart: bandPart,
};
