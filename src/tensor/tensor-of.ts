import { type ErrorCode, ServingError } from "../errors.ts";
import { didYouMean } from "../text/nearest.ts";
import type { DType } from "./dtype.ts";
import { toTensor, type Values } from "./plain-value.ts";
import type { Tensor } from "./tensor.ts";

/** Choices for {@link tensorOf}. */
export interface TensorOfOptions {
  /** The error's code: `invalid_argument` (default) blames the client; use `internal` for a model's output. */
  readonly code?: ErrorCode;
}

/**
 * The tensor under a name, with the type of its data known: `tensorOf(inputs, "x", "float32").data` is a Float32Array.
 * Plain values, as hooks get them over PredictJSON, become tensors of that dtype first. Throws where the name is
 * missing, saying which there are, and where the tensor has another dtype.
 */
export function tensorOf<D extends DType>(
  values: Values,
  name: string,
  dtype: D,
  { code = "invalid_argument" }: TensorOfOptions = {},
): Tensor<D> {
  if (!Object.hasOwn(values, name)) {
    const names = Object.keys(values);
    const known = names.length === 0 ? "There are none" : `There are ${names.join(", ")}`;
    throw new ServingError(code, `"${name}" is missing.${didYouMean(name, names)} ${known}.`);
  }
  const tensor = toTensor(values[name] as Values[string], name, dtype);
  if (tensor.dtype === dtype) return tensor as Tensor<D>;
  throw new ServingError(code, `"${name}" is ${tensor.dtype} [${tensor.shape}]; expected ${dtype}.`);
}
