import { assertOutputs } from "../signature/assert-outputs.ts";
import { createTensors, type Tensor, type Tensors } from "../tensor/tensor.ts";

/** The wanted tensors in the order that was asked for; throws `invalid_argument` for one that is not there. */
export function pickOutputs(tensors: Tensors, wanted: readonly string[]): Tensors {
  assertOutputs(
    wanted,
    Object.keys(tensors).map((name) => ({ name })),
  );
  return createTensors(wanted.map((name) => [name, tensors[name] as Tensor]));
}
