import { DTYPES } from "../../tensor/dtype.ts";
import { type PackedBytes, packedOf } from "../../tensor/packed-bytes.ts";
import type { Tensor, Tensors } from "../../tensor/tensor.ts";
import { OwnMap, setView } from "./own-built-ins.ts";

/**
 * One flush of a channel is one ArrayBuffer, read as 32-bit integers:
 *
 *     [records, bytes used] then per record
 *     [kind, id, meta bytes, tensors] meta as UTF-8 JSON, then per tensor
 *     [name bytes, dtype << 8 | rank, content bytes, place] name as UTF-8, dims,
 *         for `bytes` [place] and the start and end of each element in the content, content
 *
 * Each part starts at a multiple of 4, inline content at a multiple of 8, so that it can be viewed in place.
 * `place` is -1 for inline content; otherwise the content is in `buffers[place]`, and one more integer is its offset
 * there. Several contents of a record may be in one buffer.
 */
export type Frame = ArrayBuffer | readonly [frame: ArrayBuffer, ...buffers: ArrayBuffer[]];

/** Size from which content is sent as a separate buffer, in bytes: below it a copy costs less than a transfer. */
export const OWN_BUFFER_BYTES = 16 * 1024;

/** Bytes before the first record. */
export const FRAME_HEADER_BYTES = 8;

/** Index of each dtype in a frame. */
export const DTYPE_INDEX: ReadonlyMap<string, number> = new OwnMap(DTYPES.map((dtype, index) => [dtype, index]));

/** `size` rounded up to a multiple of `unit`, a power of two. */
export function align(size: number, unit: number): number {
  return (size + unit - 1) & ~(unit - 1);
}

/**
 * One message between hosts: its kind and id, small plain data, and tensors. All members are required: an absent one
 * would be looked up in Object.prototype, which user code may extend.
 */
export interface WireRecord {
  /** Kind of the message; each pair of hosts has its own list of kinds. */
  readonly kind: number;
  /** Id of the request that it belongs to, below 2^31. */
  readonly id: number;
  /** Plain JSON data; undefined = none. */
  readonly meta: unknown;
  readonly tensors: Tensors | undefined;
}

/** The elements of a `bytes` tensor, concatenated in a new block; a single element is not copied. */
export function packElements(elements: readonly Uint8Array[]): PackedBytes {
  const [first] = elements;
  if (first !== undefined && elements.length === 1) {
    return { content: first, ranges: Uint32Array.of(0, first.length), byteLength: first.length };
  }
  let byteLength = 0;
  for (let index = 0; index < elements.length; index++) byteLength += elements[index]!.length;
  const content = new Uint8Array(byteLength);
  const ranges = new Uint32Array(2 * elements.length);
  let position = 0;
  for (let index = 0; index < elements.length; index++) {
    const element = elements[index]!;
    setView(content, element, position);
    ranges[2 * index] = position;
    position += element.length;
    ranges[2 * index + 1] = position;
  }
  return { content, ranges, byteLength };
}

/**
 * Maximum share of a buffer outside the tensors that view it: an eighth, for example the header of the message that
 * contained them.
 */
const MAX_SLACK_PART = 1 / 8;

/** Bytes of each buffer that the tensors of one record view. Tensors that nearly fill a buffer are its only users. */
export class BufferCoverage {
  /** By buffer: the length of the view at each offset. */
  readonly #views = new OwnMap<ArrayBufferLike, Map<number, number>>();

  constructor(tensors: Tensors) {
    for (const name in tensors) this.#count(tensors[name]!);
  }

  /** Checks that the tensors are the buffer's only contents, so that it may be transferred with them. */
  isWhole(buffer: ArrayBufferLike): boolean {
    let covered = 0;
    for (const bytes of this.#views.get(buffer)?.values() ?? []) covered += bytes;
    return buffer instanceof ArrayBuffer && buffer.byteLength - covered <= MAX_SLACK_PART * buffer.byteLength;
  }

  #count(tensor: Tensor): void {
    const packed = packedOf(tensor);
    if (packed !== undefined) this.#add(packed.content);
    else if (tensor.dtype !== "bytes") this.#add(tensor.data);
  }

  /** A tensor with two names counts once. */
  #add({ buffer, byteOffset, byteLength }: ArrayBufferView): void {
    const views = this.#views.get(buffer) ?? new OwnMap<number, number>();
    this.#views.set(buffer, views.set(byteOffset, byteLength));
  }
}
