import * as tf from "@tensorflow/tfjs-core";
import { sizeOfNew } from "../../tfjs/kernel-checks.ts";
import { FLOATS, INTEGERS, TYPE } from "../element-types.ts";
import type { KernelFactory, KernelTable, OpNode } from "../op-node.ts";
import { asTensor, moveElements, numberOf, numbersOf, Strings, type Value } from "../values.ts";
import { allocate, broadcastShape } from "./binary.ts";
import { gather } from "./gather.ts";
import { broadcastTo, shapeOf } from "./shape.ts";

const oneHot: KernelFactory = (node) => {
  const axis = node.integer("axis", -1);
  if (node.type("T") === TYPE.string) return node.refuse("of strings");
  return (indices, depth, on, off) => {
    const carrier = asTensor(on).dtype as "float32" | "int32" | "bool";
    const places = asTensor(indices);
    const [count, onValue, offValue] = [numberOf(depth), numberOf(on), numberOf(off)];
    const numbers = places.dataSync();
    const shape = [...places.shape, count];
    const rows = allocate(carrier, sizeOfNew(shape, "The result of OneHot")).fill(offValue);
    for (const [row, place] of numbers.entries()) if (place >= 0 && place < count) rows[row * count + place] = onValue;
    const last = tf.tensor(rows, shape, carrier);
    if (axis === -1 || axis === places.rank) return last;
    const order = places.shape.map((_, index) => index);
    order.splice(axis, 0, places.rank);
    return tf.transpose(last, order);
  };
};

/** The places that are true or not zero, as rows of indices. */
const where: KernelFactory = () => (condition) => {
  const tensor = asTensor(condition);
  const places: number[] = [];
  for (const [index, value] of tensor.dataSync().entries())
    if (value !== 0) places.push(...placeOf(index, tensor.shape));
  return tf.tensor(places, [tensor.rank === 0 ? places.length : places.length / tensor.rank, tensor.rank], "int32");
};

function placeOf(index: number, shape: readonly number[]): number[] {
  const place = new Array<number>(shape.length);
  let rest = index;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    place[axis] = rest % shape[axis]!;
    rest = Math.floor(rest / shape[axis]!);
  }
  return place;
}

const selectV2: KernelFactory = () => (condition, a, b) => choose(asTensor(condition), a as Value, b as Value);

/** The first version takes a condition of rank 1 for rows. */
const select: KernelFactory = () => (condition, a, b) => {
  const flags = asTensor(condition);
  const rank = shapeOf(a).length;
  const isRows = flags.rank === 1 && rank >= 1 && flags.shape[0] === shapeOf(a)[0];
  const fits = flags.rank === 0 || isRows || flags.shape.join() === shapeOf(a).join();
  if (shapeOf(a).join() !== shapeOf(b).join() || !fits)
    throw new Error(`Inputs of Select must have the same shape: [${flags.shape}], [${shapeOf(a)}], [${shapeOf(b)}]`);
  const wide =
    flags.rank === 1 && rank > 1 ? tf.reshape(flags, [flags.size, ...new Array<number>(rank - 1).fill(1)]) : flags;
  return choose(wide, a as Value, b as Value);
};

function choose(condition: tf.Tensor, a: Value, b: Value): Value {
  const shape = [shapeOf(a), shapeOf(b)].reduce<readonly number[]>(broadcastShape, condition.shape);
  const widen = (x: tf.Tensor) => (x.shape.join() === shape.join() ? x : broadcastTo(x, shape));
  return tf.tidy(() => {
    const wide = widen(tf.cast(condition, "int32")).cast("bool");
    return moveElements([a, b], (sides) => tf.where(wide, widen(sides[0]!), widen(sides[1]!))) as never;
  }) as Value;
}

function sorted(node: OpNode): ReturnType<KernelFactory> {
  node.typeOf("T", new Set([...FLOATS, ...INTEGERS]));
  const fixed = node.op === "TopK" ? node.integer("k") : undefined;
  return (x, k) => {
    const tensor = asTensor(x);
    const count = fixed ?? numberOf(k);
    const width = tensor.shape.at(-1)!;
    if (count < 0) throw new Error(`Need k >= 0, got ${count}`);
    if (tensor.rank === 0) throw new Error("input must be >= 1-D, got shape []");
    if (count > width) throw new Error(`input must have at least k columns. Had ${width}, needed ${count}`);
    const numbers = tensor.dataSync();
    const places: number[] = [];
    const values: number[] = [];
    for (let start = 0; start < numbers.length; start += width) {
      const row = numbers.subarray(start, start + width);
      // Of equal numbers the first comes first: sorting is stable.
      const order = Array.from(row, (_, index) => index).sort((i, j) => row[j]! - row[i]!);
      for (const place of order.slice(0, count)) {
        places.push(place);
        values.push(row[place]!);
      }
    }
    const shape = [...tensor.shape.slice(0, -1), count];
    return [tf.tensor(values, shape, tensor.dtype), tf.tensor(places, shape, "int32")];
  };
}

const unique: KernelFactory = (node) => (x, axis) => {
  if (node.op.endsWith("V2") && asTensor(axis).size > 0 && shapeOf(x).length !== 1)
    throw new Error("an axis is not known here");
  if (shapeOf(x).length !== 1) throw new Error(`unique expects a 1D vector, got shape [${shapeOf(x)}]`);
  const keys =
    x instanceof Strings ? x.elements.map((element) => Buffer.from(element).toString("latin1")) : numbersOf(x);
  const firsts = new Map<string | number, number>();
  const positions: number[] = [];
  const places = keys.map((key, index) => {
    const known = firsts.get(key);
    if (known !== undefined) return known;
    firsts.set(key, positions.length);
    positions.push(index);
    return positions.length - 1;
  });
  const order = tf.tensor1d(positions, "int32");
  const counts = new Array<number>(positions.length).fill(0);
  for (const place of places) counts[place] = counts[place]! + 1;
  const results = [gather(x as Value, order, 0, 0), tf.tensor1d(places, "int32")];
  return node.op.includes("Counts") ? [...results, tf.tensor1d(counts, "int32")] : results;
};

/** Operations that choose elements by condition, size or kind. */
export const SELECT_KERNELS: KernelTable = {
  OneHot: oneHot,
  Where: where,
  Select: select,
  SelectV2: selectV2,
  TopK: sorted,
  TopKV2: sorted,
  Unique: unique,
  UniqueV2: unique,
  UniqueWithCounts: unique,
  UniqueWithCountsV2: unique,
};
