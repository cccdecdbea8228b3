import type { Dimension } from "../../tensor/signature/signature.ts";

/** Bounds from here on are those of a type, if a model has none. */
const UNBOUNDED = 2 ** 31 - 1;

/** A dimension between two bounds, -1 = none. Without an upper bound, requests may have any size. */
export function toDimension(min: number, max: number): Dimension {
  if (max === -1 || max >= UNBOUNDED) return -1;
  return min === max ? min : { min, max };
}
