import type { Dimension, TensorSpec } from "../signature/signature.ts";

/** Checks that a tensor as a configuration describes it may be one that a model describes: of the same type, and of sizes that fit. */
export function isCompatibleSpec(expected: TensorSpec, found: TensorSpec): boolean {
  if (expected.dtype !== found.dtype) return false;
  const { shape } = found;
  if (shape === undefined || expected.shape === undefined) return true;
  return (
    shape.length === expected.shape.length && expected.shape.every((size, axis) => fits(size, shape[axis] as Dimension))
  );
}

/** Sizes that are open on either side fit. */
function fits(expected: Dimension, found: Dimension): boolean {
  if (expected === -1 || found === -1 || typeof expected === "object") return true;
  if (typeof found === "object") return expected >= found.min && expected <= found.max;
  return expected === found;
}
