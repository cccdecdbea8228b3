import { assertOutputs } from "../signature/choose-signature.ts";
import { createTensors, type Tensor, type Tensors } from "../tensor/tensor.ts";

/** The wanted tensors in the requested order; throws `invalid_argument` for a missing one. */
export function pickOutputs(tensors: Tensors, wanted: readonly string[]): Tensors {
  assertOutputs(
    wanted,
    Object.keys(tensors).map((name) => ({ name })),
  );
  return createTensors(wanted.map((name) => [name, tensors[name] as Tensor]));
}
