import { DTYPES } from "../tensor/dtype.ts";
import { OwnMap } from "./own-built-ins.ts";

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

/** Size from which content is sent as a buffer of its own, in bytes: below it a copy costs less than a transfer. */
export const OWN_BUFFER_BYTES = 16 * 1024;

/** Bytes before the first record. */
export const FRAME_HEADER_BYTES = 8;

/** Index of each dtype in a frame. */
export const DTYPE_INDEX: ReadonlyMap<string, number> = new OwnMap(DTYPES.map((dtype, index) => [dtype, index]));

/** `size` rounded up to a multiple of `unit`, a power of two. */
export function align(size: number, unit: number): number {
  return (size + unit - 1) & ~(unit - 1);
}
