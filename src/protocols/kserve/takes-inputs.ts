import { type TensorSpec, toSize } from "../../tensor/signature/signature.ts";
import { datatypeOf } from "./datatype.ts";

/** A sentence about the inputs that a model takes, for the end of an error: `The model takes 'x' FP32 [-1,3].` */
export function takesInputs(specs: readonly TensorSpec[] | undefined): string {
  if (specs === undefined) return "The model does not say what it takes.";
  return `The model takes ${describeSpecs(specs) || "no inputs"}.`;
}

/** A sentence about the outputs that a model gives, for the end of an error: `The model gives 'y' FP32 [-1].` */
export function givesOutputs(specs: readonly TensorSpec[]): string {
  return `The model gives ${describeSpecs(specs) || "no outputs"}.`;
}

/** Inputs or outputs for a text: `'x' FP32 [-1,3], 'y' INT64 [1]`. */
function describeSpecs(specs: readonly TensorSpec[]): string {
  return specs
    .map(({ name, dtype, shape }) => {
      const sizes = shape === undefined ? "of any shape" : `[${shape.map(toSize)}]`;
      return `'${name}' ${datatypeOf(dtype)?.name ?? dtype} ${sizes}`;
    })
    .join(", ");
}
