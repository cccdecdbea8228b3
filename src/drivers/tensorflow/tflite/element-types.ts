import type { NumericDType } from "../../../tensor/dtype.ts";

/** Element types that are carried, by LiteRT's numbers (litert_model_types.h). */
const ELEMENT_TYPES: Readonly<Record<number, NumericDType>> = {
  1: "float32",
  2: "int32",
  3: "uint8",
  4: "int64",
  6: "bool",
  7: "int16",
  8: "complex64",
  9: "int8",
  10: "float16",
  11: "float64",
  13: "uint64",
  16: "uint32",
  17: "uint16",
  19: "bfloat16",
};

/** Names of those that are not. */
const OTHERS: Readonly<Record<number, string>> = {
  5: "string",
  12: "complex128",
  14: "resource",
  15: "variant",
  18: "int4",
};

/** The dtype for one of LiteRT's numbers; undefined for one that cannot be carried. */
export function dtypeOfElementType(elementType: number): NumericDType | undefined {
  return ELEMENT_TYPES[elementType];
}

/** Name of an element type that cannot be carried. */
export function nameOfElementType(elementType: number): string {
  return OTHERS[elementType] ?? `of LiteRT's element type ${elementType}`;
}
