import type { NodeDef } from "../saved-model/graph-def.ts";
import { constantShape, integer, integers, shapeAttribute } from "./node-attributes.ts";

/** A tensor's number of dimensions; undefined where nothing tells it. */
type Rank = number | undefined;

/** A tensor's sizes, -1 for any; undefined where nothing tells even their number. */
export type Shape = readonly number[] | undefined;

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
/** Operations whose outputs have a number of dimensions of their own. */
const OWN: Readonly<Record<string, number>> = {
  ...{ Conv2D: 4, DepthwiseConv2dNative: 4, Conv2DBackpropInput: 4, MaxPool: 4, AvgPool: 4, MatMul: 2 },
  ...{ Conv3D: 5, Conv3DBackpropInputV2: 5, MaxPool3D: 5, AvgPool3D: 5 },
  ...{ ResizeBilinear: 4, ResizeNearestNeighbor: 4, ResizeBicubic: 4, ResizeArea: 4, CropAndResize: 4 },
};
/** Operations with an attribute `shape` that is their output's. */
export const HOLDERS = new Set(["VarHandleOp", "VariableV2", "Variable"]);

/** True where an operation's first output has the shape of its first input. */
export function keepsShape(op: string): boolean {
  return SAME_SHAPE.has(op);
}

/** True for an operation that broadcasts its inputs. */
export function isBroadcast(op: string): boolean {
  return BROADCAST.has(op);
}

/** The rank of a node's first output, by those of its inputs, and by the nodes that give these. */
export function rankOf(node: NodeDef, ranks: readonly Rank[], sources: readonly (NodeDef | undefined)[]): Rank {
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
