import type { Dimension, TensorSpec } from "../signature/signature.ts";

/** Checks that a configured tensor and a model's tensor have the same type and compatible sizes. */
export function isCompatibleSpec(expected: TensorSpec, found: TensorSpec): boolean {
  if (expected.dtype !== found.dtype) return false;
  const { shape } = found;
  if (shape === undefined || expected.shape === undefined) return true;
  return (
    shape.length === expected.shape.length && expected.shape.every((size, axis) => fits(size, shape[axis] as Dimension))
  );
}

/** Sizes that are open on either side are compatible. */
function fits(expected: Dimension, found: Dimension): boolean {
  if (expected === -1 || found === -1 || typeof expected === "object") return true;
  if (typeof found === "object") return expected >= found.min && expected <= found.max;
  return expected === found;
}
