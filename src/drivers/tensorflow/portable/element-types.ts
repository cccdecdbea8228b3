import { ServingError } from "../../../errors.ts";
import { type NumericDType, numericLayout } from "../../../tensor/dtype.ts";
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from "../../../tensor/float16.ts";
import { type DataTypeName, dataTypeNumber, toDType } from "../saved-model/data-type.ts";
import type { NodeDef } from "../saved-model/graph-def.ts";

function numbers(...names: DataTypeName[]): ReadonlySet<number> {
  return new Set(names.map(dataTypeNumber));
}

/** Numbers of TensorFlow's types that are computed in float32. */
export const FLOATS: ReadonlySet<number> = numbers("FLOAT", "DOUBLE");
/** Those whose results TensorFlow rounds after each operation; they are moved and cast here, not computed with. */
export const SHORT_FLOATS: ReadonlySet<number> = numbers("HALF", "BFLOAT16");
/** Numbers of the integer types that 32 bits hold, or hold in part. */
export const INTEGERS: ReadonlySet<number> = numbers(
  "INT8",
  "INT16",
  "INT32",
  "INT64",
  "UINT8",
  "UINT16",
  "UINT32",
  "UINT64",
);
/** Those of them that may exceed what carries them. */
export const WIDE_INTEGERS: ReadonlySet<number> = numbers("INT64", "UINT32", "UINT64");
/** Types by name. */
export const TYPE = {
  float: dataTypeNumber("FLOAT"),
  double: dataTypeNumber("DOUBLE"),
  half: dataTypeNumber("HALF"),
  bfloat16: dataTypeNumber("BFLOAT16"),
  int32: dataTypeNumber("INT32"),
  int64: dataTypeNumber("INT64"),
  uint8: dataTypeNumber("UINT8"),
  uint16: dataTypeNumber("UINT16"),
  bool: dataTypeNumber("BOOL"),
  string: dataTypeNumber("STRING"),
  resource: dataTypeNumber("RESOURCE"),
  variant: dataTypeNumber("VARIANT"),
} as const;

/** The dtypes of results that are computed here. */
export type HostDType = "float32" | "int32" | "bool";

/** The dtype that carries a type in TensorFlow.js; undefined for strings and types that cannot be carried. */
export function carrierOfType(type: number): HostDType | undefined {
  if (FLOATS.has(type) || SHORT_FLOATS.has(type)) return "float32";
  if (INTEGERS.has(type)) return "int32";
  return type === TYPE.bool ? "bool" : undefined;
}

const WRAPS: ReadonlyMap<number, (value: number) => number> = new Map([
  [dataTypeNumber("INT8"), (value) => (value << 24) >> 24],
  [dataTypeNumber("INT16"), (value) => (value << 16) >> 16],
  [dataTypeNumber("UINT8"), (value) => value & 0xff],
  [dataTypeNumber("UINT16"), (value) => value & 0xffff],
  [dataTypeNumber("INT32"), (value) => value | 0],
  [dataTypeNumber("UINT32"), withinUnsigned],
  [dataTypeNumber("UINT64"), withinUnsigned],
]);

/**
 * Brings an integer result back into its type: narrow types wrap around as in TensorFlow; a 64-bit result that 32 bits
 * do not hold throws `out_of_range`. The value must be exact up to 2^53.
 */
export function integerOf(type: number): (value: number) => number {
  return WRAPS.get(type) ?? withinCarrier;
}

function withinCarrier(value: number): number {
  if (value <= 0x7fffffff && value >= -0x80000000) return value;
  throw beyond(value);
}

function withinUnsigned(value: number): number {
  if (value <= 0x7fffffff && value >= 0) return value;
  throw beyond(value);
}

function beyond(value: number): ServingError {
  return new ServingError(
    "out_of_range",
    `The model computes the integer ${value}, which 32 bits with sign do not hold: the native engine takes it (kserving runtimes install tensorflow).`,
  );
}

/** Rounds a float to its type; undefined for the types that need none. */
export function roundingOf(type: number): ((value: number) => number) | undefined {
  if (type === TYPE.half) return (value) => fromFloat16(toFloat16(value));
  if (type === TYPE.bfloat16) return (value) => fromBfloat16(toBfloat16(value));
  return undefined;
}

/**
 * The product of two integers, still to be brought back into their type. In doubles, a
 * product of 32-bit integers would lose its lowest bits.
 */
export function multiply(a: number, b: number, type: number): number {
  return type === TYPE.int32 ? Math.imul(a, b) : a * b;
}

/** The lowest number of an integer type; minus infinity if 32 bits do not hold it. */
export function lowestOf(type: number): number {
  return LIMITS.get(type)?.[0] ?? Number.NEGATIVE_INFINITY;
}

/** The highest number of an integer type; infinity if 32 bits do not hold it. */
export function highestOf(type: number): number {
  return LIMITS.get(type)?.[1] ?? Number.POSITIVE_INFINITY;
}

const LIMITS: ReadonlyMap<number, readonly [number, number]> = new Map([
  [dataTypeNumber("INT8"), [-0x80, 0x7f]],
  [dataTypeNumber("INT16"), [-0x8000, 0x7fff]],
  [dataTypeNumber("INT32"), [-0x80000000, 0x7fffffff]],
  [dataTypeNumber("UINT8"), [0, 0xff]],
  [dataTypeNumber("UINT16"), [0, 0xffff]],
]);

/** Number of bits of an integer type. */
export function bitsOf(type: number): number {
  return numericLayout(toDType(type) as NumericDType).bytes * 8;
}

/** Operations whose results are booleans. */
const TESTS =
  /^(Equal|NotEqual|Less|LessEqual|Greater|GreaterEqual|LogicalAnd|LogicalOr|LogicalNot|IsNan|IsInf|IsFinite|All|Any)$/;

/** Attributes with an output's type that are not the first of {@link USUAL}, by operation. */
const BY_OPERATION: Readonly<Record<string, readonly [attribute: string, fallback: number]>> = {
  ArgMax: ["output_type", TYPE.int64],
  ArgMin: ["output_type", TYPE.int64],
  Bucketize: ["", TYPE.int32],
  Cast: ["DstT", TYPE.float],
  DecodeImage: ["dtype", TYPE.uint8],
  DecodeJpeg: ["", TYPE.uint8],
  DecodePng: ["dtype", TYPE.uint8],
  LookupTableFindV2: ["Tout", TYPE.int64],
  Range: ["Tidx", TYPE.int32],
  Rank: ["", TYPE.int32],
  ResizeBilinear: ["", TYPE.float],
  Shape: ["out_type", TYPE.int32],
  Size: ["out_type", TYPE.int32],
  StringLength: ["", TYPE.int32],
  StringToHashBucketFast: ["", TYPE.int64],
  StringToNumber: ["out_type", TYPE.float],
  Where: ["", TYPE.int64],
};

/** Types of all outputs that never vary, by operation. */
const FIXED: Readonly<Record<string, readonly number[]>> = {
  AsString: [TYPE.string],
  DecodeBase64: [TYPE.string],
  EncodeBase64: [TYPE.string],
  StaticRegexFullMatch: [TYPE.bool],
  StaticRegexReplace: [TYPE.string],
  StringJoin: [TYPE.string],
  StringLower: [TYPE.string],
  StringSplitV2: [TYPE.int64, TYPE.string, TYPE.int64],
  StringStrip: [TYPE.string],
  StringUpper: [TYPE.string],
  Substr: [TYPE.string],
};

/** Attributes with the output type of most operations. */
const USUAL = ["Tparams", "T", "dtype", "out_type", "Tout", "element_dtype"];

/** The number of an output's type, if its node alone determines it; else undefined. */
export function outputType({ op, attr }: Pick<NodeDef, "op" | "attr">, output: number): number | undefined {
  if (TESTS.test(op)) return TYPE.bool;
  const fixed = FIXED[op];
  if (fixed !== undefined) return fixed[output];
  if (/^TopK|^NonMaxSuppression/.test(op) && output === (op.startsWith("TopK") ? 1 : 0)) return TYPE.int32;
  if (op.startsWith("Unique") && output > 0) return typeAttribute(attr, "out_idx") ?? TYPE.int32;
  const [name, fallback] = BY_OPERATION[op] ?? [];
  if (name !== undefined) return typeAttribute(attr, name) ?? fallback;
  for (const usual of USUAL) {
    const found = typeAttribute(attr, usual, output);
    if (found !== undefined) return found;
  }
  return undefined;
}

function typeAttribute(attributes: NodeDef["attr"], name: string, output = 0): number | undefined {
  const attribute = Object.hasOwn(attributes, name) ? attributes[name]?.value : undefined;
  if (attribute?.case === "type") return attribute.value;
  return attribute?.case === "list" ? attribute.value.type[output] : undefined;
}
