import { ServingError } from "../errors.ts";
import { isConvertible, type Signature, type TensorSpec } from "../signature/signature.ts";
import { convertTensor } from "../tensor/convert-tensor.ts";
import { createTensors, type Tensor, type Tensors } from "../tensor/tensor.ts";

/**
 * Inputs whose numbers have the dtypes of a signature; other values pass as they are, for the checks to refuse. Throws
 * `invalid_argument`, naming the input, for a number that the dtype does not hold.
 */
export function convertNumbers(inputs: Tensors, specs: readonly TensorSpec[] | undefined): Tensors {
  const isOther = (spec: TensorSpec) => {
    const came = inputs[spec.name]?.dtype;
    return came !== undefined && came !== spec.dtype && isConvertible(came, spec.dtype);
  };
  const others = specs?.filter(isOther) ?? [];
  if (others.length === 0) return inputs;
  const converted = createTensors(Object.entries(inputs));
  for (const { name, dtype } of others) converted[name] = convertInput(name, inputs[name]!, dtype);
  return converted;
}

/** The signatures, with a mark on every input whose numbers are converted. */
export function markConversion(signatures: Readonly<Record<string, Signature>>): Readonly<Record<string, Signature>> {
  const mark = (spec: TensorSpec): TensorSpec =>
    isConvertible(spec.dtype, spec.dtype) ? { ...spec, convertsNumbers: true } : spec;
  const entries = Object.entries(signatures).map(
    ([name, { inputs, ...rest }]) => [name, { ...(inputs && { inputs: inputs.map(mark) }), ...rest }] as const,
  );
  return Object.fromEntries(entries);
}

function convertInput(name: string, tensor: Tensor, dtype: TensorSpec["dtype"]): Tensor {
  try {
    return convertTensor(tensor, dtype);
  } catch (cause) {
    const { code, message } = ServingError.from(cause);
    throw new ServingError(code, `Input "${name}" is ${tensor.dtype}; the model takes ${dtype}. ${message}`, { cause });
  }
}
