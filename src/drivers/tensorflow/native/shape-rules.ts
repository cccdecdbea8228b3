import type { NodeDef } from "../saved-model/graph-def.ts";
import {
  constantShape,
  type Integers,
  integer,
  integers,
  isTrue,
  type Shape,
  shapeAttribute,
} from "./node-attributes.ts";
import { windowedShape } from "./shape-faults.ts";

/** TensorFlow's limit. */
const MAX_RANK = 254;

type Rule = (node: NodeDef, shape: readonly number[], values: Values, shapes: readonly Shape[]) => Shape;
/** The integers of an input, if they are known. */
type Values = (index: number) => readonly number[] | undefined;

/** Operations with their own rule, by the shape of their first input. */
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

/** The begin, the end and the step of a slice on each axis. */
type Bounds = readonly (readonly number[] | undefined)[];

/** The sizes that `StridedSlice` leaves, -1 for any; undefined if its bounds are no constants, or it adds axes. */
function slicedShape(node: NodeDef, shape: readonly number[], bounds: Bounds): readonly number[] | undefined {
  const [begins, ends, steps] = bounds;
  const isPlain = integer(node, "ellipsis_mask") === 0 && integer(node, "new_axis_mask") === 0;
  if (!isPlain || begins === undefined || ends === undefined || steps === undefined) return undefined;
  const sizes = shape.map((size, axis) => {
    if (axis >= begins.length) return size;
    const begin = isSet(node, "begin_mask", axis) ? 0 : begins[axis]!;
    const end = isSet(node, "end_mask", axis) ? size : ends[axis]!;
    return size < 0 || steps[axis]! < 1 ? -1 : lengthOf(place(begin, size), place(end, size), steps[axis]!);
  });
  return sizes.filter((_, axis) => !isSet(node, "shrink_axis_mask", axis));
}

function lengthOf(begin: number, end: number, step: number): number {
  return Math.max(0, Math.ceil((end - begin) / step));
}

/** A bound within an axis, by a number that counts from the end if it is negative. */
function place(bound: number, size: number): number {
  return Math.min(Math.max(bound < 0 ? bound + size : bound, 0), size);
}

function isSet(node: NodeDef, name: string, axis: number): boolean {
  return axis < 31 && ((integer(node, name) >> axis) & 1) === 1;
}

/** A tensor's number of dimensions; undefined if nothing tells it. */
type Rank = number | undefined;

/** Operations whose first output has the shape of their first input. */
const SAME_SHAPE = new Set([
  ...["Identity", "Cast", "StopGradient", "PreventGradient", "Snapshot", "CheckNumerics", "EnsureShape", "CopyHost"],
  ...["Abs", "Neg", "Exp", "Log", "Log1p", "Sqrt", "Rsqrt", "Square", "Round", "Rint", "Floor", "Ceil", "Sign", "Erf"],
  ...["Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Sigmoid", "Tanh", "Softplus", "Softsign", "Softmax", "LogSoftmax"],
  ...["BiasAdd", "ClipByValue", "ReverseV2", "Roll", "LRN", "PlaceholderWithDefault", "ReadVariableOp"],
  "IdentityN",
  ...["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"],
  ...["FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVarsPerChannel"],
  ...["QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3"],
]);
/** Operations whose first output has other sizes than their first input, but as many. */
const SAME_RANK = new Set([
  ...["Pad", "PadV2", "MirrorPad", "Transpose", "Slice", "Tile", "SplitV", "ConcatV2"],
  ...["SpaceToBatchND", "BatchToSpaceND", "SpaceToBatch", "BatchToSpace", "SpaceToDepth", "DepthToSpace"],
]);
/** The same for the second input. */
const SAME_RANK_AS_SECOND = new Set(["Split", "Concat"]);
/** Operations whose inputs are broadcast. */
const BROADCAST = new Set([
  ...["Add", "AddV2", "Sub", "Mul", "Div", "RealDiv", "FloorDiv", "TruncateDiv", "DivNoNan", "MulNoNan", "FloorMod"],
  ...["Maximum", "Minimum", "Pow", "SquaredDifference"],
]);
/** Operations whose outputs have a fixed number of dimensions. */
const OWN: Readonly<Record<string, number>> = {
  ...{ Conv2D: 4, DepthwiseConv2dNative: 4, Conv2DBackpropInput: 4, MaxPool: 4, AvgPool: 4, MatMul: 2 },
  ...{ Conv3D: 5, Conv3DBackpropInputV2: 5, MaxPool3D: 5, AvgPool3D: 5 },
  ...{ ResizeBilinear: 4, ResizeNearestNeighbor: 4, ResizeBicubic: 4, ResizeArea: 4, CropAndResize: 4 },
};
/** Operations with an attribute `shape` that is their output's. */
const HOLDERS = new Set(["VarHandleOp", "VariableV2", "Variable"]);

/** True if an operation's first output has the shape of its first input. */
function keepsShape(op: string): boolean {
  return SAME_SHAPE.has(op);
}

/** True for an operation that broadcasts its inputs. */
function isBroadcast(op: string): boolean {
  return BROADCAST.has(op);
}

/** The rank of a node's first output, by those of its inputs, and by the nodes that give these. */
function rankOf(node: NodeDef, ranks: readonly Rank[], sources: readonly (NodeDef | undefined)[]): Rank {
  const { op } = node;
  const [first] = ranks;
  if (SAME_SHAPE.has(op) || SAME_RANK.has(op)) return first;
  if (SAME_RANK_AS_SECOND.has(op)) return ranks[1];
  if (Object.hasOwn(OWN, op)) return OWN[op];
  if (BROADCAST.has(op)) return widest(ranks);
  if (op === "Const") return constantShape(node)?.length;
  if (HOLDERS.has(op)) return shapeAttribute(node)?.length;
  if (op === "Reshape") return sources[1] && countOf(sources[1]);
  return changed(node, first);
}

/** The rank of an input with some dimensions more, or fewer. */
function changed(node: NodeDef, first: Rank): Rank {
  if (first === undefined) return undefined;
  if (node.op === "ExpandDims" || node.op === "Pack") return first + 1;
  if (node.op === "Squeeze") {
    const removed = integers(node, "squeeze_dims").length;
    return removed === 0 ? undefined : first - removed;
  }
  if (node.op !== "StridedSlice") return undefined;
  if (integer(node, "ellipsis_mask") !== 0) return undefined;
  return first + ones(integer(node, "new_axis_mask")) - ones(integer(node, "shrink_axis_mask"));
}

function widest(ranks: readonly Rank[]): Rank {
  return ranks.reduce((one, other) => (one === undefined || other === undefined ? undefined : Math.max(one, other)));
}

/** The number of elements of a list of sizes. */
function countOf(node: NodeDef): Rank {
  if (node.op === "Pack") return node.input.filter((input) => !input.startsWith("^")).length;
  const shape = constantShape(node);
  return shape?.length === 1 ? shape[0] : undefined;
}

function ones(mask: number): number {
  return mask.toString(2).replaceAll("0", "").length;
}
