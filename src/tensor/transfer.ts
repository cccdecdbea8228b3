import { packedOf } from "./packed-bytes.ts";
import type { Tensor } from "./tensor.ts";

const given = new WeakSet<object>();

/**
 * Gives a tensor away: on its way to another thread its memory is handed over instead of copied, and the tensor is
 * empty here afterwards. Worth it for large tensors that a hook made and does not look at again.
 */
export function transfer(tensor: Tensor): Tensor {
  given.add(contentOf(tensor));
  return tensor;
}

/** Checks if a tensor was marked by {@link transfer}. */
export function isTransferred(tensor: Tensor): boolean {
  return given.has(contentOf(tensor));
}

/** Elements that are packed stay so. */
function contentOf(tensor: Tensor): object {
  return packedOf(tensor) ?? tensor.data;
}
