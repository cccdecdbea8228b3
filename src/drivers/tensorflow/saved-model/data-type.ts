import { DATA_TYPES } from "../../../tensor/data-types.ts";
import type { DType } from "../../../tensor/dtype.ts";

/** A name of TensorFlow's `DataType`, without `DT_`. */
export type DataTypeName = (typeof DATA_TYPES)[number][0] extends `DT_${infer Name}` ? Name : never;

const BY_NUMBER: ReadonlyMap<number, (typeof DATA_TYPES)[number]> = new Map(DATA_TYPES.map((type) => [type[1], type]));
const BY_NAME: ReadonlyMap<string, number> = new Map(DATA_TYPES.map(([name, number]) => [name.slice(3), number]));

/** A reference to a variable of TensorFlow 1 has its type's number and this. */
const REFERENCE = 100;

/** Our dtype for a number of TensorFlow's `DataType`; undefined for one that no request can carry. */
export function toDType(dataType: number): DType | undefined {
  return BY_NUMBER.get(withoutReference(dataType))?.[2];
}

/** TensorFlow's number for one of our dtypes. */
export function fromDType(dtype: DType): number {
  const found = DATA_TYPES.find((type) => type[2] === dtype);
  return found?.[1] ?? 0;
}

/** TensorFlow's name of a type, for messages: `DT_VARIANT`. */
export function dataTypeName(dataType: number): string {
  return BY_NUMBER.get(withoutReference(dataType))?.[0] ?? `DataType ${dataType}`;
}

/** The number of a type by its name without `DT_`. */
export function dataTypeNumber(name: DataTypeName): number {
  return BY_NAME.get(name)!;
}

/** The type itself for a reference to a variable of it. */
export function withoutReference(dataType: number): number {
  return dataType > REFERENCE ? dataType - REFERENCE : dataType;
}
