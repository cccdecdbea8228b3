import type { DType } from "./dtype.ts";

/**
 * The element types of TensorFlow, which its models and its clients number: name, number, and our dtype for those that
 * we carry. https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/framework/types.proto
 */
export const DATA_TYPES = [
  ["DT_FLOAT", 1, "float32"],
  ["DT_DOUBLE", 2, "float64"],
  ["DT_INT32", 3, "int32"],
  ["DT_UINT8", 4, "uint8"],
  ["DT_INT16", 5, "int16"],
  ["DT_INT8", 6, "int8"],
  ["DT_STRING", 7, "bytes"],
  ["DT_COMPLEX64", 8, "complex64"],
  ["DT_INT64", 9, "int64"],
  ["DT_BOOL", 10, "bool"],
  ["DT_QINT8", 11, undefined],
  ["DT_QUINT8", 12, undefined],
  ["DT_QINT32", 13, undefined],
  ["DT_BFLOAT16", 14, "bfloat16"],
  ["DT_QINT16", 15, undefined],
  ["DT_QUINT16", 16, undefined],
  ["DT_UINT16", 17, "uint16"],
  ["DT_COMPLEX128", 18, "complex128"],
  ["DT_HALF", 19, "float16"],
  ["DT_RESOURCE", 20, undefined],
  ["DT_VARIANT", 21, undefined],
  ["DT_UINT32", 22, "uint32"],
  ["DT_UINT64", 23, "uint64"],
  ["DT_FLOAT8_E5M2", 24, undefined],
  ["DT_FLOAT8_E4M3FN", 25, undefined],
  ["DT_INT4", 29, undefined],
  ["DT_UINT4", 30, undefined],
] as const satisfies readonly (readonly [name: string, number: number, dtype: DType | undefined])[];
