import { isPixels } from "../../media/image-tensor.ts";
import type { Tensors } from "../../tensor/tensor.ts";

/**
 * Checks if a hook's values may hold an image that only its origin distinguishes from other tensors: an image's pixels,
 * or one encoded image of rank 0.
 */
export function mayHoldImages(tensors: Tensors): boolean {
  for (const name in tensors) {
    const tensor = tensors[name];
    if (tensor === undefined) continue;
    if (isPixels(tensor) || (tensor.dtype === "bytes" && tensor.shape.length === 0)) return true;
  }
  return false;
}
