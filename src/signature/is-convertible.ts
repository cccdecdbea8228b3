import type { DType } from "../tensor/dtype.ts";

/**
 * Checks that elements of one dtype can become elements of another: both are numbers, or true and false, none is
 * complex.
 */
export function isConvertible(from: DType, to: DType): boolean {
  return isReal(from) && isReal(to);
}

function isReal(dtype: DType): boolean {
  return dtype !== "bytes" && !dtype.startsWith("complex");
}
