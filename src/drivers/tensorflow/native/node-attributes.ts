import type { Attribute, NodeDef } from "../saved-model/graph-def.ts";
import { fromTensorProto, fromTensorShape } from "../saved-model/tensor-proto.ts";

/** The sizes of a constant; undefined for other nodes. */
export function constantShape(node: NodeDef): readonly number[] | undefined {
  const value = node.op === "Const" ? attribute(node, "value") : undefined;
  return value?.case === "tensor" ? fromTensorShape(value.value.tensorShape) : undefined;
}

/** The values of a constant of integers; undefined for other nodes, and for a constant whose values were left out. */
export function constantIntegers(node: NodeDef | undefined): readonly number[] | undefined {
  const value = node?.op === "Const" ? attribute(node, "value") : undefined;
  if (value?.case !== "tensor" || value.value.tensorContent === undefined) return undefined;
  return Array.from(fromTensorProto(value.value, node!.name).data as ArrayLike<number | bigint>, Number);
}

/** The attribute `shape`, -1 for any size. */
export function shapeAttribute(node: NodeDef): readonly number[] | undefined {
  const shape = attribute(node, "shape");
  return shape?.case === "shape" ? fromTensorShape(shape.value) : undefined;
}

/** An attribute that is a list of integers; empty where it is missing. */
export function integers(node: NodeDef, name: string): readonly number[] {
  const value = attribute(node, name);
  return value?.case === "list" ? value.value.i.map(Number) : [];
}

/** An attribute that is an integer; 0 where it is missing. */
export function integer(node: NodeDef, name: string): number {
  const value = attribute(node, name);
  return value?.case === "i" ? Number(value.value) : 0;
}

/** An attribute that is a text; undefined where it is missing. */
export function text(node: NodeDef, name: string): string | undefined {
  const value = attribute(node, name);
  return value?.case === "s" ? Buffer.from(value.value).toString() : undefined;
}

/** An attribute that is true or false; false where it is missing. */
export function isTrue(node: NodeDef, name: string): boolean {
  return attribute(node, name)?.value === true;
}

function attribute({ attr }: NodeDef, name: string): Attribute | undefined {
  return Object.hasOwn(attr, name) ? attr[name]?.value : undefined;
}
