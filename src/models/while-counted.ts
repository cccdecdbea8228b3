import { ImageReservation } from "../platform/limits/memory/image-reservation.ts";
import { type Tensors, tensorBytes } from "../tensor/tensor.ts";

/** Inputs of fewer bytes cost a run less than counting their copies. */
const COUNTED_BYTES = 64 * 1024;

/** Bytes of inputs that are copied so many times, for batches or by their driver; 0 if that is little. */
export function copiedBytes(inputs: Tensors, copies: number): number {
  const bytes = copies * tensorBytes(inputs);
  return bytes < COUNTED_BYTES ? 0 : bytes;
}

/** Counts bytes that belong to a run, of images with which a model waits or of copies, until it is over. */
export async function whileCounted<Result>(bytes: number, work: () => Promise<Result>): Promise<Result> {
  if (bytes === 0) return await work();
  const held = new ImageReservation(bytes);
  try {
    return await work();
  } finally {
    held.release();
  }
}

/** Bytes of the inputs that were created from images. */
export function bytesOfPreprocessed(decoded: Tensors, inputs: Tensors): number {
  const preprocessed = Object.entries(decoded).filter(([name, tensor]) => tensor !== inputs[name]);
  return preprocessed.reduce((sum, [, { data }]) => sum + ("byteLength" in data ? data.byteLength : 0), 0);
}
