import type { TensorSpec } from "../signature/signature.ts";

/** How runtimes say that sizes do not fit each other, or what a model computes with. */
const SIZES =
  /shape|dimension|\bdims?\b|\brank\b|broadcast|incompatible|size mismatch|same size|channels|not equal to the model input|must (have|be) at least|input size/i;

/**
 * Whether a failed run says that the sizes of its inputs are what is wrong. A model that leaves no size open got what it asks for, so that the fault
 * is its own.
 */
export function isShapeFault(message: string, inputs: readonly TensorSpec[]): boolean {
  return SIZES.test(message) && inputs.some(isOpen);
}

function isOpen({ shape }: TensorSpec): boolean {
  return shape === undefined || shape.some((size) => typeof size === "object" || size === -1);
}
