import type { Payload } from "../pipeline/payload.ts";
import { isGone, packedOf } from "../tensor/packed-bytes.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";

/** Checks that no input was transferred to a thread. */
export function isWhole(payload: Payload): boolean {
  if (payload.kind === "json") return payload.json.length > 0;
  return Object.values(payload.tensors).every(isTensorWhole);
}

function isTensorWhole(tensor: Tensor): boolean {
  const packed = packedOf(tensor);
  if (packed !== undefined) return !isGone(packed);
  return tensor.data.length > 0 || elementCount(tensor.shape) === 0;
}
