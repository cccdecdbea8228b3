import type { Dimension } from "./signature.ts";

/** A dimension where there is no form for ranges: -1 for any size, also within a range. */
export function toSize(dimension: Dimension): number {
  return typeof dimension === "number" ? dimension : -1;
}
