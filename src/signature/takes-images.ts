import type { TensorSpec } from "./signature.ts";

/**
 * Checks if an input takes encoded images in addition to tensors: one of numbers of rank 4 does, and the model's edge
 * decodes them, but where hooks take them first.
 */
export function takesImages({ dtype, shape, refusesImages }: Omit<TensorSpec, "name">): boolean {
  return dtype !== "bytes" && shape?.length === 4 && refusesImages !== true;
}
