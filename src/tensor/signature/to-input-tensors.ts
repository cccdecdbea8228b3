import { isBuffer } from "../json-text.ts";
import { toTensors, type Values } from "../plain-value.ts";
import { createTensors, elementCount, type Tensor, type Tensors } from "../tensor.ts";
import { type Dimension, type TensorSpec, takesImages } from "./signature.ts";

/**
 * The inputs of a program's request as tensors: a number takes the dtype of the model's input, a typed array its shape,
 * and a Buffer is one element of bytes. Throws `invalid_argument` for a value that is none.
 */
export function toInputTensors(values: Values, specs: readonly TensorSpec[] | undefined): Tensors {
  const specOf = (name: string) => specs?.find((spec) => spec.name === name);
  const tensors = toTensors(values, (name) => specOf(name)?.dtype);
  const shaped = Object.entries(tensors).map(([name, tensor]) => {
    const spec = specOf(name);
    // One image is a batch of one.
    if (isBuffer(values[name])) return [name, spec && takesImages(spec) ? { ...tensor, shape: [1] } : tensor] as const;
    return [name, ArrayBuffer.isView(values[name]) ? inShapeOf(tensor, spec) : tensor] as const;
  });
  return createTensors(shaped);
}

/** A typed array has no shape: it takes the input's, if that leaves one size open at most. */
function inShapeOf(tensor: Tensor, spec: TensorSpec | undefined): Tensor {
  const { shape = [-1] } = spec ?? {};
  const fixed = shape.filter(isFixed);
  const rest = tensor.data.length / elementCount(fixed);
  const isOneOpen = shape.length === fixed.length + 1 && Number.isInteger(rest);
  if (!isOneOpen && (shape.length !== fixed.length || rest !== 1)) return tensor;
  return { ...tensor, shape: shape.map((size) => (isFixed(size) ? size : rest)) };
}

function isFixed(size: Dimension): size is number {
  return typeof size === "number" && size >= 0;
}
