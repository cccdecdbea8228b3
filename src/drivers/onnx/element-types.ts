import type { DType } from "../../tensor/dtype.ts";
import { ONNX_TYPES } from "./onnx-types.ts";

/** Our dtype by ONNX's name of a type, for those whose elements ONNX Runtime takes and gives. */
const DTYPES: Readonly<Record<string, DType>> = {
  bool: "bool",
  uint8: "uint8",
  uint16: "uint16",
  uint32: "uint32",
  uint64: "uint64",
  int8: "int8",
  int16: "int16",
  int32: "int32",
  int64: "int64",
  float16: "float16",
  bfloat16: "bfloat16",
  float32: "float32",
  float64: "float64",
  string: "bytes",
};

const CODES = new Map(Object.entries(DTYPES).map(([type, dtype]) => [dtype, elementCode(type)]));

/** Our dtype for ONNX's type; undefined for one that we do not carry. */
export function toDType(type: string): DType | undefined {
  return Object.hasOwn(DTYPES, type) ? DTYPES[type] : undefined;
}

/** The number of a dtype's type in ONNX; 0 for one that ONNX Runtime does not take. */
export function codeOf(dtype: DType): number {
  return CODES.get(dtype) ?? 0;
}

/** ONNX's name of a type by its number. */
export function typeOf(code: number): string {
  return ONNX_TYPES[code]?.[0] ?? `of element type ${code}`;
}

function elementCode(type: string): number {
  return ONNX_TYPES.findIndex(([name]) => name === type);
}
