import { typeOfDType } from "../../protocols/tensorflow-serving/tensor-proto.ts";
import type { TensorSpec } from "../../signature/signature.ts";
import type { DType } from "../../tensor/dtype.ts";
import { exampleShape } from "./example-value.ts";

/** A TensorProto in protobuf's JSON: the smallest shape, with one element that stands for all. */
export function exampleTensorProto(spec: TensorSpec): object {
  const { name, fieldName } = typeOfDType(spec.dtype);
  const shape = { dim: exampleShape(spec).map((size) => ({ size })) };
  return { dtype: name, tensor_shape: shape, [fieldName]: exampleElement(spec.dtype) };
}

/** One element; a complex one is its two parts. */
function exampleElement(dtype: DType): readonly unknown[] {
  if (dtype === "bytes") return [Buffer.from("text").toString("base64")];
  if (dtype === "bool") return [false];
  return dtype.startsWith("complex") ? [0, 0] : [0];
}
