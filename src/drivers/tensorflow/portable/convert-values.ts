import * as tf from "@tensorflow/tfjs-core";
import type { DType, NumericDType } from "../../../tensor/dtype.ts";
import { createTensor, type Tensor } from "../../../tensor/tensor.ts";
import { fromTfjsTensor, toTfjsTensor } from "../tfjs/tfjs-tensor.ts";
import { Strings, type Value } from "./values.ts";

/** Our tensor as a value; throws `invalid_argument`, naming `what`, for numbers that cannot be carried. */
export function toValue(tensor: Tensor, what: string): tf.Tensor | Strings {
  return tensor.dtype === "bytes" ? new Strings(tensor.shape, tensor.data) : toTfjsTensor(tensor, what);
}

/** A result as our tensor of the dtype that the signature declares; its numbers are copied. */
export function fromValue(value: Value, dtype: DType): Tensor {
  if (value instanceof tf.Tensor) return fromTfjsTensor(value, dtype as NumericDType);
  if (value instanceof Strings) return createTensor("bytes", value.shape, [...value.elements]);
  throw new Error(`A ${value.constructor.name} is not a tensor.`);
}
