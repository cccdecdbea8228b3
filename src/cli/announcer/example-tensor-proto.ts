import type { TensorSpec } from "../../drivers/driver.ts";
import type { DType } from "../../tensor/dtype.ts";
import { exampleShape } from "./example-value.ts";

/** TensorFlow's name of each dtype, the TensorProto field that carries it, and one element in protobuf's JSON. */
const FIELDS: Readonly<Record<DType, readonly [dtype: string, field: string, element: readonly unknown[]]>> = {
  bool: ["DT_BOOL", "bool_val", [false]],
  uint8: ["DT_UINT8", "int_val", [0]],
  uint16: ["DT_UINT16", "int_val", [0]],
  uint32: ["DT_UINT32", "uint32_val", [0]],
  uint64: ["DT_UINT64", "uint64_val", [0]],
  int8: ["DT_INT8", "int_val", [0]],
  int16: ["DT_INT16", "int_val", [0]],
  int32: ["DT_INT32", "int_val", [0]],
  int64: ["DT_INT64", "int64_val", [0]],
  float16: ["DT_HALF", "half_val", [0]],
  bfloat16: ["DT_BFLOAT16", "half_val", [0]],
  float32: ["DT_FLOAT", "float_val", [0]],
  float64: ["DT_DOUBLE", "double_val", [0]],
  complex64: ["DT_COMPLEX64", "scomplex_val", [0, 0]],
  complex128: ["DT_COMPLEX128", "dcomplex_val", [0, 0]],
  bytes: ["DT_STRING", "string_val", [Buffer.from("text").toString("base64")]],
};

/** A TensorProto in protobuf's JSON: the smallest shape, with one element that stands for all. */
export function exampleTensorProto(spec: TensorSpec): object {
  const [dtype, field, element] = FIELDS[spec.dtype];
  return { dtype, tensor_shape: { dim: exampleShape(spec).map((size) => ({ size })) }, [field]: element };
}
