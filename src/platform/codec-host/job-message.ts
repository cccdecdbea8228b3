import { packedOf } from "../../tensor/packed-bytes.ts";
import { createPackedTensor } from "../../tensor/packed-tensor.ts";
import { createRecord, isRecord } from "../../tensor/record.ts";
import { isTensor, type Tensor } from "../../tensor/tensor.ts";
import { packElements } from "../threads/frame.ts";
import { isSharedFrame } from "../threads/frame-reader.ts";

/** A value as `postMessage` takes it. */
export interface JobMessage {
  readonly tree: unknown;
  readonly views: readonly ArrayBufferView[];
}

/** A message, and the buffers that are transferred with it. */
interface OutgoingMessage {
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
  const { content, ranges, byteLength } = packedOf(tensor) ?? packElements(tensor.data);
  return ["packed", shape, views.push(content) - 1, views.push(ranges) - 1, byteLength];
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
      return decodePacked(parts as PackedParts, views);
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

/** Its shape, the numbers of its views, and the bytes of its elements: to sum them up again would take long. */
type PackedParts = [shape: number[], content: number, ranges: number, byteLength: number];

function decodePacked([shape, content, ranges, byteLength]: PackedParts, views: readonly ArrayBufferView[]): Tensor {
  const packed = { content: views[content] as Uint8Array, ranges: views[ranges] as Uint32Array, byteLength };
  return createPackedTensor(shape, packed);
}

function pairs(parts: readonly unknown[], views: readonly ArrayBufferView[]): [string, unknown][] {
  const all: [string, unknown][] = [];
  for (let at = 0; at < parts.length; at += 2) all.push([parts[at] as string, decode(parts[at + 1], views)]);
  return all;
}

/**
 * Buffers that may be transferred: these; or, with `owned`, all of which no other code needs the rest, because the
 * moved views cover most of it.
 */
export type MayTransfer = ReadonlySet<ArrayBufferLike> | "owned";

/** Views to post, and the buffers that are transferred with them. */
interface MovedViews {
  readonly views: readonly ArrayBufferView[];
  readonly transfer: ArrayBuffer[];
}

/** A buffer of which this part is not viewed may be one that others view too. */
const MAX_SPARE_PART = 1 / 2;
/**
 * Buffers up to this size may be the pool of small Buffers, which is never
 * transferred; a copy costs less than finding out.
 */
const SMALL_BYTES = 64 * 1024;

/** Parts of slabs begin at multiples of this, in bytes, which suits every dtype. */
const ALIGNMENT = 8;
/** A slab is not larger, in bytes, unless one view is. */
const MAX_SLAB_BYTES = 4 * 1024 * 1024;

/**
 * Prepares views for another thread: their buffers are transferred if they may be, each once; of others the viewed
 * part is copied. Small views are copied into slabs that they share: a separate buffer costs the main thread some ten
 * microseconds for each, and a message may have thousands.
 */
function moveViews(views: readonly ArrayBufferView[], mayTransfer: MayTransfer): MovedViews {
  const wanted = mayTransfer === "owned" ? ownedBuffers(views) : mayTransfer;
  const isCopied = (view: ArrayBufferView) => !wanted.has(view.buffer) || view.buffer.byteLength <= SMALL_BYTES;
  const copies = copyInSlabs(views.filter(isCopied));
  let copied = 0;
  const moved = views.map((view) => (isCopied(view) ? (copies[copied++] as ArrayBufferView) : view));
  return { views: moved, transfer: [...new Set(moved.map(({ buffer }) => buffer as ArrayBuffer))] };
}

function ownedBuffers(views: readonly ArrayBufferView[]): ReadonlySet<ArrayBufferLike> {
  const covered = new Map<ArrayBufferLike, number>();
  for (const { buffer, byteLength } of views) covered.set(buffer, (covered.get(buffer) ?? 0) + byteLength);
  const owned = [...covered].filter(([buffer, bytes]) => isOwned(buffer, bytes));
  return new Set(owned.map(([buffer]) => buffer));
}

function isOwned(buffer: ArrayBufferLike, covered: number): boolean {
  const isLarge = buffer instanceof ArrayBuffer && buffer.byteLength > SMALL_BYTES;
  return isLarge && !isSharedFrame(buffer) && buffer.byteLength - covered <= MAX_SPARE_PART * buffer.byteLength;
}

function copyInSlabs(views: readonly ArrayBufferView[]): ArrayBufferView[] {
  const copies: ArrayBufferView[] = [];
  while (copies.length < views.length) {
    const { end, bytes } = slabFrom(views, copies.length);
    const slab = new ArrayBuffer(bytes);
    let start = 0;
    for (const view of views.slice(copies.length, end)) {
      copies.push(copyAt(view, slab, start));
      start += alignedSize(view);
    }
  }
  return copies;
}

/** End of the views that share a slab with the one at an index, and the slab's size. */
function slabFrom(views: readonly ArrayBufferView[], first: number): { readonly end: number; readonly bytes: number } {
  let bytes = 0;
  let end = first;
  for (let view = views[end]; view !== undefined; view = views[++end]) {
    if (end > first && bytes + alignedSize(view) > MAX_SLAB_BYTES) break;
    bytes += alignedSize(view);
  }
  return { end, bytes };
}

function alignedSize({ byteLength }: ArrayBufferView): number {
  return Math.ceil(byteLength / ALIGNMENT) * ALIGNMENT;
}

/** A Buffer becomes a plain Uint8Array, as it does in another thread. */
function copyAt(view: ArrayBufferView, slab: ArrayBuffer, start: number): ArrayBufferView {
  const { buffer, byteOffset, byteLength } = view;
  new Uint8Array(slab, start, byteLength).set(new Uint8Array(buffer, byteOffset, byteLength));
  if (Buffer.isBuffer(view)) return new Uint8Array(slab, start, byteLength);
  const { BYTES_PER_ELEMENT: size = 1 } = view as { readonly BYTES_PER_ELEMENT?: number };
  return new (view.constructor as ViewConstructor)(slab, start, byteLength / size);
}

type ViewConstructor = new (memory: ArrayBuffer, start: number, length: number) => ArrayBufferView;
