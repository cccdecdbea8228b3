import { invalidArgument } from "../../../errors.ts";
import { elementCount, type Tensors } from "../../../tensor/tensor.ts";

/**
 * Throws `invalid_argument` for an input without elements: kernels in WebAssembly divide by its sizes, which traps, and
 * a trap ends the thread with the requests of others.
 */
export function refuseEmpty(inputs: Tensors): void {
  for (const [name, { shape }] of Object.entries(inputs)) {
    if (elementCount(shape) > 0) continue;
    throw invalidArgument(`Input "${name}" has shape [${shape}], so no elements; TensorFlow.js needs one at least.`);
  }
}
