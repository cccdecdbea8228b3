import { invalidArgument } from "../../../errors.ts";
import { fitsShape } from "../../../signature/fits-shape.ts";
import type { TensorSpec } from "../../../signature/signature.ts";
import { createTensor, createTensors, type Tensor, type Tensors } from "../../../tensor/tensor.ts";

/**
 * Inputs in the shapes that a model takes. One that differs by dimensions of size 1 alone is given the model's:
 * TensorFlow Serving resizes the model's tensor to what comes. Throws `invalid_argument` for any other shape.
 */
export function fittedInputs(inputs: Tensors, specs: readonly TensorSpec[]): Tensors {
  return createTensors(specs.map((spec) => [spec.name, fitted(inputs[spec.name] as Tensor, spec)]));
}

function fitted(tensor: Tensor, { name, shape }: TensorSpec): Tensor {
  if (shape === undefined || fitsShape(tensor.shape, shape)) return tensor;
  const sizes = shape as readonly number[];
  const isFixed = !sizes.includes(-1);
  if (isFixed && String(withoutOnes(tensor.shape)) === String(withoutOnes(sizes))) {
    return createTensor(tensor.dtype, sizes, tensor.data as never);
  }
  throw invalidArgument(`Input "${name}" has shape [${tensor.shape}]; the model takes [${sizes}].`);
}

function withoutOnes(shape: readonly number[]): readonly number[] {
  return shape.filter((size) => size !== 1);
}
