import type { Attribute, NodeDef } from "../saved-model/graph-def.ts";
import { fromTensorProto, fromTensorShape } from "../saved-model/tensor-proto.ts";

/** A tensor's sizes, -1 for any; undefined if nothing tells even their number. */
export type Shape = readonly number[] | undefined;

/** The sizes of a constant; undefined for other nodes. */
export function constantShape(node: NodeDef): readonly number[] | undefined {
  const value = node.op === "Const" ? attribute(node, "value") : undefined;
  return value?.case === "tensor" ? fromTensorShape(value.value.tensorShape) : undefined;
}

/** The values of a constant of integers; undefined for other nodes, and for a constant whose values were left out. */
function constantIntegers(node: NodeDef | undefined): readonly number[] | undefined {
  const value = node?.op === "Const" ? attribute(node, "value") : undefined;
  if (value?.case !== "tensor" || value.value.tensorContent === undefined) return undefined;
  return Array.from(fromTensorProto(value.value, node!.name).data as ArrayLike<number | bigint>, Number);
}

/** The attribute `shape`, -1 for any size. */
export function shapeAttribute(node: NodeDef): readonly number[] | undefined {
  const shape = attribute(node, "shape");
  return shape?.case === "shape" ? fromTensorShape(shape.value) : undefined;
}

/** An attribute that is a list of integers; empty if it is missing. */
export function integers(node: NodeDef, name: string): readonly number[] {
  const value = attribute(node, name);
  return value?.case === "list" ? value.value.i.map(Number) : [];
}

/** An attribute that is an integer; 0 if it is missing. */
export function integer(node: NodeDef, name: string): number {
  const value = attribute(node, name);
  return value?.case === "i" ? Number(value.value) : 0;
}

/** An attribute that is a text; undefined if it is missing. */
export function text(node: NodeDef, name: string): string | undefined {
  const value = attribute(node, name);
  return value?.case === "s" ? Buffer.from(value.value).toString() : undefined;
}

/** An attribute that is true or false; false if it is missing. */
export function isTrue(node: NodeDef, name: string): boolean {
  return attribute(node, name)?.value === true;
}

function attribute({ attr }: NodeDef, name: string): Attribute | undefined {
  return Object.hasOwn(attr, name) ? attr[name]?.value : undefined;
}

/** The integers of a tensor of few, which may be sizes; undefined if nothing tells them. */
export type Integers = readonly number[] | undefined;

/** Elements that such a tensor has at most. */
export const MAX_INTEGERS = 16;

/** Operations that give their first input's elements. */
const SAME = new Set(["Identity", "Cast", "StopGradient", "EnsureShape", "Snapshot", "CopyHost", "Reshape"]);
SAME.add("ExpandDims").add("Squeeze").add("PlaceholderWithDefault");
const PAIRWISE: Readonly<Record<string, (one: number, other: number) => number>> = {
  ...{ Add: add, AddV2: add, Sub: (one, other) => one - other, Mul: (one, other) => one * other },
  FloorDiv: (one, other) => Math.floor(one / other),
  ...{ Maximum: Math.max, Minimum: Math.min },
};

/** The integers that a node gives, by those of its inputs. */
export function integersOf(node: NodeDef, given: readonly Integers[], shapes: readonly Shape[]): Integers {
  const found = computed(node, given, shapes);
  return found === undefined || found.length > MAX_INTEGERS || !found.every(Number.isSafeInteger) ? undefined : found;
}

function computed(node: NodeDef, given: readonly Integers[], shapes: readonly Shape[]): Integers {
  const { op } = node;
  const [first, second] = given;
  if (op === "Const") return constantIntegers(node);
  if (SAME.has(op)) return first;
  if (op === "Shape") return shapes[0]?.every((size) => size >= 0) ? shapes[0] : undefined;
  if (op === "Pack") return joined(given);
  if (op === "ConcatV2") return joined(given.slice(0, -1));
  if (op === "StridedSlice") return sliced(node, given);
  if (!Object.hasOwn(PAIRWISE, op) || first === undefined || second === undefined) return undefined;
  return pairs(first, second, PAIRWISE[op]!);
}

function joined(parts: readonly Integers[]): Integers {
  return parts.every((part) => part !== undefined) ? parts.flat() : undefined;
}

function pairs(one: readonly number[], other: readonly number[], compute: (a: number, b: number) => number): Integers {
  if (one.length !== other.length && one.length !== 1 && other.length !== 1) return undefined;
  const length = one.length === 1 ? other.length : one.length;
  const at = (list: readonly number[], index: number) => list[list.length === 1 ? 0 : index]!;
  return Array.from({ length }, (_, index) => compute(at(one, index), at(other, index)));
}

/** Of a list, with ends that are given and a step of 1. */
function sliced(node: NodeDef, [list, begin, end, step]: readonly Integers[]): Integers {
  if (list === undefined || begin?.length !== 1 || end?.length !== 1 || step?.[0] !== 1) return undefined;
  const from = integer(node, "begin_mask") === 1 ? 0 : begin[0]!;
  if (integer(node, "shrink_axis_mask") === 1) return list.slice(from, from === -1 ? undefined : from + 1);
  return list.slice(from, integer(node, "end_mask") === 1 ? undefined : end[0]!);
}

function add(one: number, other: number): number {
  return one + other;
}
