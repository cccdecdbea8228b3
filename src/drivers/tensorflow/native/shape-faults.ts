import type { NodeDef } from "../saved-model/graph-def.ts";
import { type Integers, integers, type Shape, text } from "./node-attributes.ts";

/** Dimensions that operations of TensorFlow 2.21 need their first input to have, or more. */
const FEWEST: Readonly<Record<string, number>> = {
  ...{ Conv2D: 4, DepthwiseConv2dNative: 4, Conv3D: 5, MaxPool3D: 5, Unbatch: 1 },
};
/** Dimensions that they need their inputs to have, by place; null = any number. */
const EXACT: Readonly<Record<string, readonly (number | null)[]>> = {
  FakeQuantWithMinMaxVarsPerChannel: [null, 1, 1],
  FakeQuantWithMinMaxVarsPerChannelGradient: [null, null, 1, 1],
  CombinedNonMaxSuppression: [4, 3, 0, 0, 0, 0],
  LSTMBlockCell: [2, 2, 2, 2, 1, 1, 1, 1],
  LSTMBlockCellGrad: [2, 2, 2, 2, 1, 1, 1, 1],
  Unbatch: [null, 2, 0],
  ...{ Conv2DBackpropInput: [1, 4, 4], DepthwiseConv2dNativeBackpropInput: [1, 4, 4] },
  ...{ Conv3DBackpropInputV2: [1, 5, 5], Conv3DBackpropFilterV2: [5, 1, 5] },
  ...{ AvgPoolGrad: [1, 4], AvgPool3DGrad: [1, 5], CropAndResizeGradBoxes: [4, 4, 2, 1] },
  ...{ Conv2DBackpropFilter: [4, 1, 4], DepthwiseConv2dNativeBackpropFilter: [4, 1, 4] },
};
/** Operations whose first input is their result's sizes. */
const SIZED = [
  ...["Conv2DBackpropInput", "DepthwiseConv2dNativeBackpropInput", "Conv3DBackpropInputV2"],
  ...["AvgPoolGrad", "AvgPool3DGrad"],
];
/** No memory holds as many elements; TensorFlow counts them in 64 bits, and ends if these overflow. */
const MAX_ELEMENTS = 2 ** 40;
/**
 * The last dimensions, which Fourier transforms to or from real numbers transform, or do not write if one is empty.
 */
const TRANSFORMED: Readonly<Record<string, number>> = {
  ...{ RFFT: 1, RFFT2D: 2, RFFT3D: 3, RFFTND: Number.POSITIVE_INFINITY },
  ...{ IRFFT: 1, IRFFT2D: 2, IRFFT3D: 3, IRFFTND: Number.POSITIVE_INFINITY },
};
/** Operations that change parts of their first input. */
const SCATTER = ["Update", "Add", "Sub", "Min", "Max"].map((what) => `TensorScatter${what}`);

/** Operations that move a window over their input, by the number of axes that it moves along. */
const AXES: Readonly<Record<string, number>> = {
  ...{ Conv2D: 2, DepthwiseConv2dNative: 2, MaxPool: 2, AvgPool: 2, Conv3D: 3, MaxPool3D: 3, AvgPool3D: 3 },
};
/** Those that end the process, or answer memory as it is, if TensorFlow 2.21 computes a result of no elements. */
const UNSAFE = ["Conv2D", "DepthwiseConv2dNative", "MaxPool", "Conv3D", "MaxPool3D"];

/** Operations that end the process on some shapes or sizes of their inputs; `npm run check -- operators --hostile`. */
export const HAZARDOUS: readonly string[] = [...UNSAFE, ...Object.keys(EXACT), ...Object.keys(TRANSFORMED), ...SCATTER];

/** True for an operation whose inputs' sizes, and not their number alone, can end the process. */
export function takesSizes(op: string): boolean {
  return SIZED.includes(op) || SCATTER.includes(op) || Object.hasOwn(TRANSFORMED, op);
}

/** True for an operation that can get an input that is smaller than its window. */
export function hasWindow(node: NodeDef): boolean {
  return UNSAFE.includes(node.op) && text(node, "padding") !== "SAME";
}

/** The message about inputs with which a node ends the process; undefined for those that it bears, or may. */
export function faultOf(node: NodeDef, shapes: readonly Shape[], integers: readonly Integers[]): string | undefined {
  return misshapenOf(node.op, shapes, integers) ?? misfitOf(node, shapes);
}

/** Inputs of the wrong numbers of dimensions, or of sizes. */
function misshapenOf(op: string, shapes: readonly Shape[], integers: readonly Integers[]): string | undefined {
  if (SCATTER.includes(op)) return mismatchOf(shapes);
  const fewest = Object.hasOwn(FEWEST, op) ? FEWEST[op]! : 0;
  const [first] = shapes;
  if (first !== undefined && first.length < fewest)
    return `takes an input of ${fewest} dimensions, and this one has ${first.length}`;
  const misranked = Object.hasOwn(EXACT, op) ? misrankedOf(EXACT[op]!, shapes) : undefined;
  if (misranked !== undefined) return misranked;
  if (Object.hasOwn(TRANSFORMED, op)) return emptyOf(first, TRANSFORMED[op]!);
  return SIZED.includes(op) ? (miscountedOf(shapes) ?? missizedOf(integers[0])) : undefined;
}

function misrankedOf(ranks: readonly (number | null)[], shapes: readonly Shape[]): string | undefined {
  const place = ranks.findIndex((rank, index) => rank !== null && (shapes[index]?.length ?? rank) !== rank);
  if (place < 0) return undefined;
  return `takes ${ranks[place]} dimension(s) in its input ${place}, which has ${shapes[place]!.length}`;
}

function emptyOf(shape: Shape, count: number): string | undefined {
  if (shape?.slice(-count).includes(0) !== true) return undefined;
  return `takes an input with elements in the dimensions that it transforms, and this one is of shape [${shape}]`;
}

/** There is a size for each dimension, or for those of images alone; the gradients are the last input. */
function miscountedOf(shapes: readonly Shape[]): string | undefined {
  const [count = -1] = shapes[0] ?? [];
  const gradients = shapes.at(-1);
  if (count < 0 || gradients === undefined || [0, 2].includes(gradients.length - count)) return undefined;
  return `takes a size for each of ${gradients.length} dimensions, and there are ${count}`;
}

function missizedOf(sizes: Integers): string | undefined {
  // The number of images may be left open.
  if (sizes === undefined) return undefined;
  if (sizes.reduce((count, size) => count * Math.max(size, 1), 1) > MAX_ELEMENTS)
    return `takes sizes that fit into memory for its result, and these are ${sizes.join("x")}`;
  if (sizes.every((size, axis) => size >= (axis === 0 ? -1 : 0))) return undefined;
  return `takes sizes of 0 or more for its result, and these are ${sizes.join("x")}`;
}

/** There is a part for each place that is named, of the axes that the places leave. */
function mismatchOf([tensor, places, parts]: readonly Shape[]): string | undefined {
  if (tensor === undefined || places === undefined || parts === undefined) return undefined;
  const depth = places.at(-1);
  if (depth === undefined || depth > tensor.length) return `takes places in ${tensor.length} dimensions or fewer`;
  if (depth < 0) return undefined;
  const expected = [...places.slice(0, -1), ...tensor.slice(depth)];
  const fits = expected.length === parts.length && expected.every((size, axis) => isLike(size, parts[axis]!));
  return fits ? undefined : `takes parts of shape [${expected}] for its places, and these are [${parts}]`;
}

function isLike(size: number, other: number): boolean {
  return size < 0 || other < 0 || size === other;
}

/** A window along one axis of an input. */
interface Window {
  readonly axis: number;
  /** Elements that it covers; -1 if nothing tells it. */
  readonly extent: number;
  readonly stride: number;
  /** Elements that are added to the input, both ends together; undefined if nothing tells it. */
  readonly padding: number | "SAME" | undefined;
}

/** An input that is smaller than its window. */
function misfitOf(node: NodeDef, [input, filter]: readonly Shape[]): string | undefined {
  if (input === undefined || !hasWindow(node)) return undefined;
  const windows = windowsOf(node, input, filter);
  if (!windows.some((window) => isTooSmall(input[window.axis]!, window))) return undefined;
  const least = windows.map((window) => shown(leastOf(window)));
  const sizes = windows.map(({ axis }) => shown(input[axis]!));
  return `takes an input of ${least.join("x")} or more for its window, and this one has ${sizes.join("x")}`;
}

/** The sizes that such an operation gives; undefined for other operations. */
export function windowedShape(node: NodeDef, [input, filter]: readonly Shape[]): Shape {
  if (input === undefined) return undefined;
  const windows = windowsOf(node, input, filter);
  if (windows.length === 0) return undefined;
  const sizes = [...input];
  for (const window of windows) sizes[window.axis] = outputSize(input[window.axis]!, window);
  const channels = channelAxis(node, input);
  sizes[channels] = isPool(node) ? pooledChannels(node, input, channels) : madeChannels(node, filter);
  return sizes;
}

function windowsOf(node: NodeDef, input: readonly number[], filter: Shape): Window[] {
  const count = Object.hasOwn(AXES, node.op) ? AXES[node.op]! : 0;
  if (input.length !== count + 2) return [];
  const first = channelAxis(node, input) === 1 ? 2 : 1;
  return Array.from({ length: count }, (_, index) => windowOf(node, first + index, filter?.[index]));
}

function windowOf(node: NodeDef, axis: number, filterSize = -1): Window {
  const along = (name: string, otherwise: number) => integers(node, name)[axis] ?? otherwise;
  const size = isPool(node) ? along("ksize", -1) : filterSize;
  const extent = size < 0 ? -1 : (size - 1) * along("dilations", 1) + 1;
  return { axis, extent, stride: along("strides", 1), padding: paddingOf(node, axis) };
}

function paddingOf(node: NodeDef, axis: number): Window["padding"] {
  const rule = text(node, "padding");
  if (rule === "SAME") return rule;
  if (rule === "VALID") return 0;
  const [before, after] = integers(node, "explicit_paddings").slice(2 * axis);
  return before === undefined || after === undefined ? undefined : before + after;
}

function isTooSmall(size: number, window: Window): boolean {
  return size >= 0 && size < leastOf(window);
}

/** The fewest elements with which a window fits; -1 if nothing tells it. */
function leastOf({ extent, padding }: Window): number {
  return extent < 0 || typeof padding !== "number" ? -1 : Math.max(1, extent - padding);
}

function outputSize(size: number, { extent, stride, padding }: Window): number {
  if (size < 0 || stride < 1 || padding === undefined) return -1;
  if (padding === "SAME") return Math.ceil(size / stride);
  return extent < 0 ? -1 : Math.max(0, Math.floor((size + padding - extent) / stride) + 1);
}

function pooledChannels(node: NodeDef, input: readonly number[], axis: number): number {
  return integers(node, "ksize")[axis] === 1 ? input[axis]! : -1;
}

function madeChannels({ op }: NodeDef, filter: Shape): number {
  const [given = -1, made = -1] = filter?.slice(-2) ?? [];
  if (op !== "DepthwiseConv2dNative") return made;
  return given < 0 || made < 0 ? -1 : given * made;
}

function isPool({ op }: NodeDef): boolean {
  return op.includes("Pool");
}

function channelAxis(node: NodeDef, input: readonly number[]): number {
  return text(node, "data_format")?.startsWith("NC") ? 1 : input.length - 1;
}

function shown(size: number): string {
  return size < 0 ? "?" : String(size);
}
