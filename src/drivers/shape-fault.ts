import type { TensorSpec } from "../signature/signature.ts";

/** Texts of runtimes for sizes that do not match each other, or the model's constants. */
const SIZES =
  /shape|dimension|\bdims?\b|\brank\b|broadcast|incompatible|size mismatch|same size|channels|not equal to the model input|must (have|be) at least|input size/i;

/**
 * Checks if a failed run's message blames the sizes of its inputs. A model that leaves no size open got the sizes that
 * it asks for, so that the fault is its own.
 */
export function isShapeFault(message: string, inputs: readonly TensorSpec[]): boolean {
  return tellsOfSizes(message) && inputs.some(isOpen);
}

/** Checks if a message is about sizes that do not match. */
export function tellsOfSizes(message: string): boolean {
  return SIZES.test(message);
}

function isOpen({ shape }: TensorSpec): boolean {
  return shape === undefined || shape.some((size) => typeof size === "object" || size === -1);
}
