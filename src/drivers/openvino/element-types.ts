import { failedPrecondition } from "../../errors.ts";
import type { DType } from "../../tensor/dtype.ts";

/** OpenVINO's element types that requests can carry. */
const DTYPES: Readonly<Record<string, DType>> = {
  boolean: "bool",
  i8: "int8",
  i16: "int16",
  i32: "int32",
  i64: "int64",
  u8: "uint8",
  u16: "uint16",
  u32: "uint32",
  u64: "uint64",
  f16: "float16",
  bf16: "bfloat16",
  f32: "float32",
  f64: "float64",
  string: "bytes",
};

/** Reasons why requests cannot carry the others. */
const OTHERS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["u1", "u2", "u3", "u4", "i4", "u6", "nf4", "f4e2m1"].map((name) => [name, "is smaller than a byte"]),
  ),
  ...Object.fromEntries(["f8e4m3", "f8e5m2", "f8e8m0"].map((name) => [name, "no protocol has a name for"])),
};

/** All names of element types that runtimes may support. */
export const ELEMENT_TYPES: readonly string[] = [...Object.keys(DTYPES), ...Object.keys(OTHERS)];

/**
 * Our dtype for OpenVINO's; throws `failed_precondition`, naming the input or output,
 * for one that no request can carry.
 */
export function toDType(elementType: string, whose: string): DType {
  const dtype = dtypeOf(elementType);
  if (dtype !== undefined) return dtype;
  const why = OTHERS[elementType] ?? "is not known here";
  throw failedPrecondition(
    `${whose} is of element type ${elementType}, which ${why}; convert it in the model, to ${nearestType(elementType)} for instance.`,
  );
}

/** Our dtype for OpenVINO's; undefined for one that no request can carry. */
export function dtypeOf(elementType: string): DType | undefined {
  return Object.hasOwn(DTYPES, elementType) ? DTYPES[elementType] : undefined;
}

/** The same the other way round. */
export function fromDType(dtype: DType): string | undefined {
  return Object.keys(DTYPES).find((name) => DTYPES[name] === dtype);
}

function nearestType(elementType: string): string {
  if (/^(nf|f)\d/.test(elementType)) return "f16";
  return elementType.startsWith("u") ? "u8" : "i8";
}
