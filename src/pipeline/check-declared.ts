import { checkInputs } from "../model-host/check-inputs.ts";
import { type TensorSpec, takesImages } from "../signature/signature.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { isSameInput } from "./signatures.ts";

/** Inputs that hooks declare, and those of the first model. */
interface Declared {
  readonly declared: readonly TensorSpec[];
  readonly inputs: readonly TensorSpec[] | undefined;
}

/** Checks what a client sent against what hooks declare; throws `invalid_argument`. */
export function checkDeclared(values: Tensors, { declared, inputs }: Declared): Tensors {
  return checkInputs(values, withImages(declared, values, inputs));
}

/** Inputs that are declared as the model has them also take encoded images, as `bytes`. */
function withImages(
  declared: readonly TensorSpec[],
  values: Tensors,
  inputs: readonly TensorSpec[] = [],
): readonly TensorSpec[] {
  const isImage = (spec: TensorSpec) =>
    values[spec.name]?.dtype === "bytes" && takesImages(spec) && inputs.some((input) => isSameInput(spec, input));
  return declared.map((spec) => (isImage(spec) ? { name: spec.name, dtype: "bytes" } : spec));
}
