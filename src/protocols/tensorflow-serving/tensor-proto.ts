import { DATA_TYPES } from "../../tensor/data-types.ts";
import type { DType } from "../../tensor/dtype.ts";

/** Field numbers of tensorflow.TensorProto that are not typed values. */
export const TENSOR_PROTO = { dtype: 1, shape: 2, content: 4 } as const;

/** Field numbers of tensorflow.TensorShapeProto and its Dim. */
export const TENSOR_SHAPE = { dim: 2, unknownRank: 3, dimSize: 1 } as const;

/** Form of a dtype in a TensorProto. */
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

const FIELDS: Readonly<Record<DType, Pick<TensorProtoType, "field" | "fieldName" | "encoding">>> = {
  float32: { field: 5, fieldName: "float_val", encoding: "block" },
  float64: { field: 6, fieldName: "double_val", encoding: "block" },
  int32: { field: 7, fieldName: "int_val", encoding: "varint" },
  uint8: { field: 7, fieldName: "int_val", encoding: "varint" },
  int16: { field: 7, fieldName: "int_val", encoding: "varint" },
  int8: { field: 7, fieldName: "int_val", encoding: "varint" },
  bytes: { field: 8, fieldName: "string_val", encoding: "bytes" },
  complex64: { field: 9, fieldName: "scomplex_val", encoding: "block" },
  int64: { field: 10, fieldName: "int64_val", encoding: "varint" },
  bool: { field: 11, fieldName: "bool_val", encoding: "varint" },
  bfloat16: { field: 13, fieldName: "half_val", encoding: "varint" },
  uint16: { field: 7, fieldName: "int_val", encoding: "varint" },
  complex128: { field: 12, fieldName: "dcomplex_val", encoding: "block" },
  float16: { field: 13, fieldName: "half_val", encoding: "varint" },
  uint32: { field: 16, fieldName: "uint32_val", encoding: "varint" },
  uint64: { field: 17, fieldName: "uint64_val", encoding: "varint" },
};

const TYPES: readonly TensorProtoType[] = DATA_TYPES.flatMap(([name, number, dtype]) =>
  dtype === undefined ? [] : [{ dtype, number, name, ...FIELDS[dtype] }],
);

/** References to variables are numbered 100 above the type that they refer to: `DT_FLOAT_REF` = 101. */
const REFERENCES = { above: 100, below: 200 };

const byNumber = new Map(TYPES.map((type) => [type.number, type]));
const nameByNumber: ReadonlyMap<number, string> = new Map(DATA_TYPES.map(([name, number]) => [number, name]));
const byDType = new Map(TYPES.map((type) => [type.dtype, type]));

/** The type with this DataType number, undefined for one that cannot be served. */
export function typeOfNumber(number: number): TensorProtoType | undefined {
  return byNumber.get(number);
}

/** The form in which a dtype is written. */
export function typeOfDType(dtype: DType): TensorProtoType {
  return byDType.get(dtype) as TensorProtoType;
}

/** A DataType's known name, or its number: `DT_FLOAT_REF`, `DT_RESOURCE`. */
export function dataTypeName(number: number): string {
  const { above, below } = REFERENCES;
  if (number > above && number < below) return `${dataTypeName(number - above)}_REF`;
  return nameByNumber.get(number) ?? String(number);
}

/** The names of all types that can be served. */
export function servedTypeNames(): string {
  return TYPES.map((type) => type.name).join(", ");
}
