import type { NodeDef } from "../saved-model/graph-def.ts";
import type { Integers } from "./known-integers.ts";
import { constantShape, integers, isTrue, shapeAttribute } from "./node-attributes.ts";
import { HOLDERS, isBroadcast, keepsShape, rankOf, type Shape } from "./rank-rules.ts";
import { slicedShape } from "./slice-rule.ts";
import { windowedShape } from "./windows.ts";

/** TensorFlow's limit. */
const MAX_RANK = 254;

type Rule = (node: NodeDef, shape: readonly number[], values: Values, shapes: readonly Shape[]) => Shape;
/** The integers of an input, where they are known. */
type Values = (index: number) => readonly number[] | undefined;

/** Operations with a rule of their own, by the shape of their first input. */
const RULES: Readonly<Record<string, Rule>> = {
  Pad: padded,
  PadV2: padded,
  MirrorPad: padded,
  Transpose: (_, shape, values) => values(1)?.map((axis) => at(shape, axis)),
  ExpandDims: (_, shape, values) => expanded(shape, values(1)?.[0]),
  Squeeze: (node, shape) => without(shape, integers(node, "squeeze_dims")),
  StridedSlice: (node, shape, values) => slicedShape(node, shape, [values(1), values(2), values(3)]),
  Mean: reduced,
  Max: reduced,
  ResizeBilinear: resized,
  ResizeNearestNeighbor: resized,
  ConcatV2: (_, shape, values, shapes) => joined(shape, shapes.slice(0, -1), values(shapes.length - 1)?.[0]),
};

/** Facts about a node's inputs, and the nodes that give them. */
interface Inputs {
  readonly shapes: readonly Shape[];
  readonly integers: readonly Integers[];
  readonly sources: readonly (NodeDef | undefined)[];
}

/** The shape of a node's first output. */
export function shapeOf(node: NodeDef, { shapes, integers, sources }: Inputs): Shape {
  const sizes = sizesOf(node, shapes, (index) => integers[index]);
  const ranks = shapes.map((shape) => shape?.length);
  const rank = rankOf(node, ranks, sources) ?? sizes?.length;
  if (rank === undefined || rank < 0 || rank > MAX_RANK) return undefined;
  return sizes?.length === rank ? sizes : Array(rank).fill(-1);
}

function sizesOf(node: NodeDef, shapes: readonly Shape[], values: Values): Shape {
  const { op } = node;
  const [first] = shapes;
  if (op === "Const") return constantShape(node);
  if (HOLDERS.has(op)) return shapeAttribute(node);
  if (op === "Reshape") return values(1);
  if (keepsShape(op)) return first;
  if (isBroadcast(op)) return shapes.reduce(broadcast);
  if (first === undefined) return undefined;
  return Object.hasOwn(RULES, op) ? RULES[op]!(node, first, values, shapes) : windowedShape(node, shapes);
}

/** Of an unknown size and one above 1, the result has the latter, or there is none. */
function broadcast(one: Shape, other: Shape): Shape {
  if (one === undefined || other === undefined) return undefined;
  const rank = Math.max(one.length, other.length);
  const sizes = [one, other].map((shape) => [...Array<number>(rank - shape.length).fill(1), ...shape]);
  return Array.from({ length: rank }, (_, axis) => {
    const [left, right] = sizes.map((shape) => shape[axis]!) as [number, number];
    if (left === 1) return right;
    return left < 0 && right !== 1 ? right : left;
  });
}

function padded(_: NodeDef, shape: readonly number[], values: Values): Shape {
  const amounts = values(1);
  if (amounts?.length !== 2 * shape.length) return undefined;
  return shape.map((size, axis) => (size < 0 ? -1 : size + amounts[2 * axis]! + amounts[2 * axis + 1]!));
}

function expanded(shape: readonly number[], axis: number | undefined): Shape {
  return axis === undefined ? undefined : shape.toSpliced(axis < 0 ? axis + shape.length + 1 : axis, 0, 1);
}

function without(shape: readonly number[], axes: readonly number[]): Shape {
  const removed = new Set(axes.map((axis) => positive(shape, axis)));
  return axes.length === 0 ? undefined : shape.filter((_, axis) => !removed.has(axis));
}

/** Reduced axes that stay have one element. */
function reduced(node: NodeDef, shape: readonly number[], values: Values): Shape {
  const axes = values(1);
  if (axes === undefined) return undefined;
  if (!isTrue(node, "keep_dims")) return axes.length === 0 ? shape : without(shape, axes);
  const gone = new Set(axes.map((axis) => positive(shape, axis)));
  return shape.map((size, axis) => (gone.has(axis) ? 1 : size));
}

function resized(_: NodeDef, [batch, , , channels]: readonly number[], values: Values): Shape {
  const [height = -1, width = -1] = values(1) ?? [];
  return [batch ?? -1, height, width, channels ?? -1];
}

function joined(first: readonly number[], shapes: readonly Shape[], given: number | undefined): Shape {
  if (given === undefined) return undefined;
  const along = positive(first, given);
  return first.map((_, axis) => {
    const sizes = shapes.map((shape) => shape?.[axis] ?? -1);
    if (axis !== along) return Math.max(...sizes);
    return sizes.includes(-1) ? -1 : sizes.reduce((one, other) => one + other);
  });
}

function at(shape: readonly number[], axis: number): number {
  return shape[positive(shape, axis)] ?? -1;
}

function positive(shape: readonly number[], axis: number): number {
  return axis < 0 ? axis + shape.length : axis;
}
