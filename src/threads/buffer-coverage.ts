import { packedOf } from "../tensor/packed-bytes.ts";
import type { Tensor, Tensors } from "../tensor/tensor.ts";
import { OwnMap } from "./own-built-ins.ts";

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
