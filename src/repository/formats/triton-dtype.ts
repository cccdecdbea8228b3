import type { DType } from "../../tensor/dtype.ts";

const DTYPES: Readonly<Record<string, DType>> = {
  TYPE_FP16: "float16",
  TYPE_FP32: "float32",
  TYPE_FP64: "float64",
  TYPE_BF16: "bfloat16",
  TYPE_STRING: "bytes",
};

/** The dtype of a type of config.pbtxt: `TYPE_FP32`. */
export function tritonDtype(type: string): DType {
  return DTYPES[type] ?? (type.replace("TYPE_", "").toLowerCase() as DType);
}
