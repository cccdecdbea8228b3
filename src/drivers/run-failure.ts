import type { TensorSpec } from "../tensor/signature/signature.ts";
import type { Tensors } from "../tensor/tensor.ts";

/** `The inputs were x float32[1,3].`, for errors that they may be the reason of. */
export function describeInputs(inputs: Tensors): string {
  const texts = Object.entries(inputs).map(([name, { dtype, shape }]) => `${name} ${dtype}[${shape}]`);
  return texts.length === 0 ? "The run had no inputs." : `The inputs were ${texts.join(", ")}.`;
}

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

/** Texts of runtimes for a lack of memory: C++, ONNX Runtime's arena, PyTorch's allocators, Python, OpenCL. */
const MEMORY =
  /bad[_ ]alloc|out of memory|failed to allocate|available memory of \d+ is smaller|can(?:not|'t) allocate|MemoryError|CL_OUT_OF/i;

/** Checks if a runtime's message is about a failed allocation, which becomes `resource_exhausted`. */
export function tellsOfMemory(message: string): boolean {
  return MEMORY.test(message);
}
