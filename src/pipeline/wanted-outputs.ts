import { ServingError } from "../errors.ts";
import type { TensorSpec } from "../signature/signature.ts";
import { createTensors, type Tensor, type Tensors } from "../tensor/tensor.ts";

/** Throws `invalid_argument`, in TensorFlow Serving's words, for a wanted output that is not among the known ones; absent specs have any. */
export function assertOutputs(wanted: readonly string[] | undefined, specs: readonly TensorSpec[] | undefined): void {
  if (wanted === undefined || specs === undefined) return;
  assertNames(
    wanted,
    specs.map(({ name }) => name),
  );
}

/** The wanted tensors in the order that was asked for; throws as {@link assertOutputs} does. */
export function pickOutputs(tensors: Tensors, wanted: readonly string[]): Tensors {
  assertNames(wanted, Object.keys(tensors));
  return createTensors(wanted.map((name) => [name, tensors[name] as Tensor]));
}

function assertNames(wanted: readonly string[], known: readonly string[]): void {
  const names = new Set(known);
  const missing = wanted.find((name) => !names.has(name));
  if (missing === undefined) return;
  throw new ServingError(
    "invalid_argument",
    `output tensor alias not found in signature: ${missing} Outputs expected to be in the set {${known}}.`,
  );
}
