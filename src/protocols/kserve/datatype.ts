import type { DType } from "../../tensor/dtype.ts";

/**
 * Names of a dtype in KServe V2: in requests, in a model's configuration, and of the typed field that may hold its
 * values.
 */
interface Datatype {
  readonly name: string;
  readonly dtype: DType;
  readonly configName: string;
  /** Field number and name in InferTensorContents; absent = raw contents only. */
  readonly contents?: { readonly field: number; readonly name: string };
}

const DATATYPES: readonly Datatype[] = [
  { name: "BOOL", dtype: "bool", configName: "TYPE_BOOL", contents: { field: 1, name: "bool_contents" } },
  { name: "INT8", dtype: "int8", configName: "TYPE_INT8", contents: { field: 2, name: "int_contents" } },
  { name: "INT16", dtype: "int16", configName: "TYPE_INT16", contents: { field: 2, name: "int_contents" } },
  { name: "INT32", dtype: "int32", configName: "TYPE_INT32", contents: { field: 2, name: "int_contents" } },
  { name: "INT64", dtype: "int64", configName: "TYPE_INT64", contents: { field: 3, name: "int64_contents" } },
  { name: "UINT8", dtype: "uint8", configName: "TYPE_UINT8", contents: { field: 4, name: "uint_contents" } },
  { name: "UINT16", dtype: "uint16", configName: "TYPE_UINT16", contents: { field: 4, name: "uint_contents" } },
  { name: "UINT32", dtype: "uint32", configName: "TYPE_UINT32", contents: { field: 4, name: "uint_contents" } },
  { name: "UINT64", dtype: "uint64", configName: "TYPE_UINT64", contents: { field: 5, name: "uint64_contents" } },
  { name: "FP16", dtype: "float16", configName: "TYPE_FP16" },
  { name: "BF16", dtype: "bfloat16", configName: "TYPE_BF16" },
  { name: "FP32", dtype: "float32", configName: "TYPE_FP32", contents: { field: 6, name: "fp32_contents" } },
  { name: "FP64", dtype: "float64", configName: "TYPE_FP64", contents: { field: 7, name: "fp64_contents" } },
  { name: "BYTES", dtype: "bytes", configName: "TYPE_STRING", contents: { field: 8, name: "bytes_contents" } },
];

const byName = new Map(DATATYPES.map((datatype) => [datatype.name, datatype]));
const byDType = new Map(DATATYPES.map((datatype) => [datatype.dtype, datatype]));

/** Every name, as requests write it. */
export const DATATYPE_NAMES: readonly string[] = DATATYPES.map(({ name }) => name);

/** The datatype of a name, undefined for an unknown one. */
export function datatypeNamed(name: string): Datatype | undefined {
  return byName.get(name);
}

/** The datatype of a dtype; undefined for complex numbers, which the protocol cannot carry. */
export function datatypeOf(dtype: DType): Datatype | undefined {
  return byDType.get(dtype);
}

/** The name of the datatypes whose values a typed field can contain, for errors: the widest of them. */
export function datatypeOfContents(field: number): string {
  return DATATYPES.findLast(({ contents }) => contents?.field === field)?.name ?? "unknown";
}
