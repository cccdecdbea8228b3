import type { DType } from "../../../tensor/dtype.ts";

/** TensorFlow's element types: name, number, and our dtype for those that we carry. */
const TYPES = [
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
] as const satisfies readonly (readonly [name: string, number: number, dtype: DType | undefined])[];

/** A name of TensorFlow's `DataType`, without `DT_`. */
export type DataTypeName = (typeof TYPES)[number][0] extends `DT_${infer Name}` ? Name : never;

const BY_NUMBER: ReadonlyMap<number, (typeof TYPES)[number]> = new Map(TYPES.map((type) => [type[1], type]));
const BY_NAME: ReadonlyMap<string, number> = new Map(TYPES.map(([name, number]) => [name.slice(3), number]));

/** A reference to a variable of TensorFlow 1 has its type's number and this. */
const REFERENCE = 100;

/** Our dtype for a number of TensorFlow's `DataType`; undefined for one that no request can carry. */
export function toDType(dataType: number): DType | undefined {
  return BY_NUMBER.get(withoutReference(dataType))?.[2];
}

/** TensorFlow's number for one of our dtypes. */
export function fromDType(dtype: DType): number {
  const found = TYPES.find((type) => type[2] === dtype);
  return found?.[1] ?? 0;
}

/** TensorFlow's name of a type, for messages: `DT_VARIANT`. */
export function dataTypeName(dataType: number): string {
  return BY_NUMBER.get(withoutReference(dataType))?.[0] ?? `DataType ${dataType}`;
}

/** The number of a type by its name without `DT_`. */
export function dataTypeNumber(name: DataTypeName): number {
  return BY_NAME.get(name) as number;
}

/** The type itself for a reference to a variable of it. */
export function withoutReference(dataType: number): number {
  return dataType > REFERENCE ? dataType - REFERENCE : dataType;
}
