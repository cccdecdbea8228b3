import { packBytes, packedOf } from "../tensor/packed-bytes.ts";
import { createPackedTensor } from "../tensor/packed-tensor.ts";
import { createRecord, isRecord } from "../tensor/record.ts";
import { isTensor, type Tensor } from "../tensor/tensor.ts";
import { packElements } from "../threads/pack-elements.ts";
import { type MayTransfer, moveViews } from "./move-views.ts";

/** A value as `postMessage` takes it. */
export interface JobMessage {
  readonly tree: unknown;
  readonly views: readonly ArrayBufferView[];
}

/** A message, and the buffers that are transferred with it. */
export interface OutgoingMessage {
  readonly message: JobMessage;
  readonly transfer: ArrayBuffer[];
}

/**
 * The arguments or the result of a job as a message: plain data, Maps, records without a prototype, views of bytes, and
 * tensors, whose `bytes` elements are packed. What the views lie in is transferred or
 * copied as {@link moveViews} decides.
 */
export function toJobMessage(value: unknown, mayTransfer: MayTransfer): OutgoingMessage {
  const found: ArrayBufferView[] = [];
  const tree = encode(value, found);
  const { views, transfer } = moveViews(found, mayTransfer);
  return { message: { tree, views }, transfer };
}

/** The value that a message carries. */
export function fromJobMessage({ tree, views }: JobMessage): unknown {
  return decode(tree, views);
}

/** A list in the tree begins with its kind; all other values are stored as they are. */
type Node = readonly ["view" | "tensor" | "packed" | "list" | "map" | "record" | "object", ...unknown[]];

function encode(value: unknown, views: ArrayBufferView[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (ArrayBuffer.isView(value)) return ["view", views.push(value) - 1] satisfies Node;
  if (Array.isArray(value)) return ["list", ...value.map((each) => encode(each, views))] satisfies Node;
  if (value instanceof Map) return ["map", ...[...value].flat().map((each) => encode(each, views))] satisfies Node;
  if (packedOf(value) !== undefined || isTensor(value)) return encodeTensor(value as Tensor, views);
  const members = Object.entries(value).flatMap(([name, member]) => [name, encode(member, views)]);
  return [isRecord(value) ? "record" : "object", ...members] satisfies Node;
}

function encodeTensor(tensor: Tensor, views: ArrayBufferView[]): Node {
  const shape = [...tensor.shape];
  if (tensor.dtype !== "bytes") return ["tensor", tensor.dtype, shape, views.push(tensor.data) - 1];
  const { content, ranges } = packedOf(tensor) ?? packElements(tensor.data);
  return ["packed", shape, views.push(content) - 1, views.push(ranges) - 1];
}

function decode(tree: unknown, views: readonly ArrayBufferView[]): unknown {
  if (!Array.isArray(tree)) return tree;
  const [kind, ...parts] = tree as unknown as Node;
  switch (kind) {
    case "view":
      return views[parts[0] as number];
    case "tensor":
      return { dtype: parts[0], shape: parts[1], data: views[parts[2] as number] };
    case "packed":
      return decodePacked(parts as [number[], number, number], views);
    case "list":
      return parts.map((part) => decode(part, views));
    case "map":
      return new Map(pairs(parts, views) as [unknown, unknown][]);
    case "record":
      return Object.assign(createRecord(), Object.fromEntries(pairs(parts, views)));
    case "object":
      return Object.fromEntries(pairs(parts, views));
  }
}

function decodePacked([shape, content, ranges]: [number[], number, number], views: readonly ArrayBufferView[]): Tensor {
  return createPackedTensor(shape, packBytes(views[content] as Uint8Array, views[ranges] as Uint32Array));
}

function pairs(parts: readonly unknown[], views: readonly ArrayBufferView[]): [string, unknown][] {
  const all: [string, unknown][] = [];
  for (let at = 0; at < parts.length; at += 2) all.push([parts[at] as string, decode(parts[at + 1], views)]);
  return all;
}
