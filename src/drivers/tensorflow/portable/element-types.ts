import { ServingError } from "../../../errors.ts";
import { type NumericDType, numericLayout } from "../../../tensor/dtype.ts";
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from "../../../tensor/float16.ts";
import { type DataTypeName, dataTypeNumber, toDType } from "../saved-model/data-type.ts";
import type { HostDType } from "./host-math.ts";

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

/** The lowest number of an integer type; minus infinity where 32 bits do not hold it. */
export function lowestOf(type: number): number {
  return LIMITS.get(type)?.[0] ?? Number.NEGATIVE_INFINITY;
}

/** The highest number of an integer type; infinity where 32 bits do not hold it. */
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
