import type { DType } from "../tensor/dtype.ts";

/** Field numbers of tensorflow.TensorProto that are not typed values. */
export const TENSOR_PROTO = { dtype: 1, shape: 2, content: 4 } as const;

/** Field numbers of tensorflow.TensorShapeProto and its Dim. */
export const TENSOR_SHAPE = { dim: 2, unknownRank: 3, dimSize: 1 } as const;

/** How a dtype looks in a TensorProto. */
export interface TensorProtoType {
  readonly dtype: DType;
  /** The number of tensorflow.DataType. */
  readonly number: number;
  /** The name of tensorflow.DataType. */
  readonly name: string;
  /** The number and name of the typed field that may hold its values. */
  readonly field: number;
  readonly fieldName: string;
  /** `block` = little-endian numbers as in memory, `varint` = one varint per value, `bytes` = one string per value. */
  readonly encoding: "block" | "varint" | "bytes";
}

const TYPES: readonly TensorProtoType[] = [
  { dtype: "float32", number: 1, name: "DT_FLOAT", field: 5, fieldName: "float_val", encoding: "block" },
  { dtype: "float64", number: 2, name: "DT_DOUBLE", field: 6, fieldName: "double_val", encoding: "block" },
  { dtype: "int32", number: 3, name: "DT_INT32", field: 7, fieldName: "int_val", encoding: "varint" },
  { dtype: "uint8", number: 4, name: "DT_UINT8", field: 7, fieldName: "int_val", encoding: "varint" },
  { dtype: "int16", number: 5, name: "DT_INT16", field: 7, fieldName: "int_val", encoding: "varint" },
  { dtype: "int8", number: 6, name: "DT_INT8", field: 7, fieldName: "int_val", encoding: "varint" },
  { dtype: "bytes", number: 7, name: "DT_STRING", field: 8, fieldName: "string_val", encoding: "bytes" },
  { dtype: "complex64", number: 8, name: "DT_COMPLEX64", field: 9, fieldName: "scomplex_val", encoding: "block" },
  { dtype: "int64", number: 9, name: "DT_INT64", field: 10, fieldName: "int64_val", encoding: "varint" },
  { dtype: "bool", number: 10, name: "DT_BOOL", field: 11, fieldName: "bool_val", encoding: "varint" },
  { dtype: "bfloat16", number: 14, name: "DT_BFLOAT16", field: 13, fieldName: "half_val", encoding: "varint" },
  { dtype: "uint16", number: 17, name: "DT_UINT16", field: 7, fieldName: "int_val", encoding: "varint" },
  { dtype: "complex128", number: 18, name: "DT_COMPLEX128", field: 12, fieldName: "dcomplex_val", encoding: "block" },
  { dtype: "float16", number: 19, name: "DT_HALF", field: 13, fieldName: "half_val", encoding: "varint" },
  { dtype: "uint32", number: 22, name: "DT_UINT32", field: 16, fieldName: "uint32_val", encoding: "varint" },
  { dtype: "uint64", number: 23, name: "DT_UINT64", field: 17, fieldName: "uint64_val", encoding: "varint" },
];

/** Types of tensorflow.DataType that no tensor of ours can carry, for errors. */
const REFUSED: ReadonlyMap<number, string> = new Map([
  [11, "DT_QINT8"],
  [12, "DT_QUINT8"],
  [13, "DT_QINT32"],
  [15, "DT_QINT16"],
  [16, "DT_QUINT16"],
  [20, "DT_RESOURCE"],
  [21, "DT_VARIANT"],
  [24, "DT_FLOAT8_E5M2"],
  [25, "DT_FLOAT8_E4M3FN"],
  [29, "DT_INT4"],
  [30, "DT_UINT4"],
]);

/** References to variables are numbered 100 above the type that they refer to: `DT_FLOAT_REF` = 101. */
const REFERENCES = { above: 100, below: 200 };

const byNumber = new Map(TYPES.map((type) => [type.number, type]));
const byDType = new Map(TYPES.map((type) => [type.dtype, type]));

/** The type with this DataType number, undefined for one that cannot be served. */
export function typeOfNumber(number: number): TensorProtoType | undefined {
  return byNumber.get(number);
}

/** How a dtype is written. */
export function typeOfDType(dtype: DType): TensorProtoType {
  return byDType.get(dtype) as TensorProtoType;
}

/** A DataType number as people know it: `DT_FLOAT_REF`, `DT_RESOURCE`, or the bare number. */
export function dataTypeName(number: number): string {
  const { above, below } = REFERENCES;
  if (number > above && number < below) return `${dataTypeName(number - above)}_REF`;
  return byNumber.get(number)?.name ?? REFUSED.get(number) ?? String(number);
}

/** The names of all types that can be served. */
export function servedTypeNames(): string {
  return TYPES.map((type) => type.name).join(", ");
}
