import type { NodeDef } from "../saved-model/graph-def.ts";
import { integers, text } from "./node-attributes.ts";
import type { Shape } from "./rank-rules.ts";

/** Operations that move a window over their input, by the number of axes that it moves along. */
const AXES: Readonly<Record<string, number>> = {
  ...{ Conv2D: 2, DepthwiseConv2dNative: 2, MaxPool: 2, AvgPool: 2, Conv3D: 3, MaxPool3D: 3, AvgPool3D: 3 },
};
/** Those that end the process, or answer memory as it is, where TensorFlow 2.21 computes a result of no elements. */
export const UNSAFE = ["Conv2D", "DepthwiseConv2dNative", "MaxPool", "Conv3D", "MaxPool3D"];

/** A window along one axis of an input. */
interface Window {
  readonly axis: number;
  /** Elements that it covers; -1 where nothing tells it. */
  readonly extent: number;
  readonly stride: number;
  /** Elements that are added to the input, both ends together; undefined where nothing tells it. */
  readonly padding: number | "SAME" | undefined;
}

/** True for an operation that can get an input that is smaller than its window. */
export function hasWindow(node: NodeDef): boolean {
  return UNSAFE.includes(node.op) && text(node, "padding") !== "SAME";
}

/** The message about an input that is smaller than its window; undefined for one that fits, or may. */
export function misfitOf(node: NodeDef, [input, filter]: readonly Shape[]): string | undefined {
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

/** The fewest elements with which a window fits; -1 where nothing tells it. */
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
