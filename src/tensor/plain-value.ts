import { reasonText, ServingError } from "../errors.ts";
import { type DType, type NumericData, type NumericDType, numericLayout } from "./dtype.ts";
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from "./float16.ts";
import { toJsonText } from "./json-text.ts";
import { createTensor, createTensors, looksLikeTensor, type Tensor, type Tensors } from "./tensor.ts";

/**
 * What a hook may return for one name, beside a {@link Tensor}:
 * - number: int32 if it is an integer that fits, int64 if it is a safe integer, else float32; bigint: int64, or uint64 above its range
 * - boolean: bool; string: `bytes` holding UTF-8; Buffer: one `bytes` element
 * - typed array: a tensor of rank 1 (Float64Array → float64, BigInt64Array → int64 …)
 * - array, nested to any depth, of the above: its elements get one dtype together; every level must be regular
 * - plain object, or an array of them: JSON text, one `bytes` element each
 *
 * Where the model's input has a dtype, a number, bigint or boolean takes that dtype instead: an integer if the dtype holds it exactly, a fraction
 * (and so a list with a fraction in it) any float dtype by rounding, unless it is beyond the dtype's range.
 */
export type PlainValue = Scalar | ArrayBufferView | PlainObject | readonly PlainValue[];
/** JSON data; becomes one `bytes` element of JSON text. */
type PlainObject = { readonly [key: string]: unknown };
/** Tensors and plain values by name: what a hook returns. */
export type Values = { readonly [name: string]: Tensor | PlainValue };

type Scalar = number | bigint | boolean | string;
type Leaf = Scalar | Uint8Array;

const encoder = new TextEncoder();
const INT32 = { min: -(2 ** 31), max: 2 ** 31 - 1 };
const INT64_MAX = 2n ** 63n - 1n;

/** Turns named values into tensors; `dtypeOf` tells the dtype that a name's numbers should take, where one is known. */
export function toTensors(values: Values, dtypeOf: (name: string) => DType | undefined = () => undefined): Tensors {
  return createTensors(Object.entries(values).map(([name, value]) => [name, toTensor(value, name, dtypeOf(name))]));
}

/** Turns one value into a tensor by the rules of {@link PlainValue}; throws `invalid_argument` naming the place of what does not fit. */
export function toTensor(value: Tensor | PlainValue, place: string, wanted?: DType): Tensor {
  if (looksLikeTensor(value)) return createTensor(value.dtype, value.shape, value.data);
  if (ArrayBuffer.isView(value) && !Buffer.isBuffer(value)) return fromTypedArray(value, place);
  const leaves: Leaf[] = [];
  const shape = shapeOf(value, place);
  flatten(value, shape, 0, place, leaves);
  return fromLeaves(leaves, shape, place, wanted);
}

const TYPED_ARRAYS: ReadonlyMap<unknown, NumericDType> = new Map<unknown, NumericDType>([
  [Uint8Array, "uint8"],
  [Uint8ClampedArray, "uint8"],
  [Uint16Array, "uint16"],
  [Uint32Array, "uint32"],
  [BigUint64Array, "uint64"],
  [Int8Array, "int8"],
  [Int16Array, "int16"],
  [Int32Array, "int32"],
  [BigInt64Array, "int64"],
  [Float32Array, "float32"],
  [Float64Array, "float64"],
]);

function fromTypedArray(value: ArrayBufferView, place: string): Tensor {
  const dtype = TYPED_ARRAYS.get(value.constructor);
  if (dtype === undefined) throw unusable(value, place);
  const data = value instanceof Uint8ClampedArray ? new Uint8Array(value) : (value as NumericData);
  return createTensor(dtype, [data.length], data as never);
}

/** Follows the first element at each level. */
function shapeOf(value: unknown, place: string): number[] {
  const shape: number[] = [];
  for (let level = value; isList(level); level = level[0]) {
    if (shape.length > 64) throw new ServingError("invalid_argument", `${place} is nested more than 64 levels deep.`);
    shape.push(level.length);
  }
  return shape;
}

function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !Buffer.isBuffer(value) && "length" in value);
}

function flatten(value: unknown, shape: readonly number[], level: number, place: string, leaves: Leaf[]): void {
  if (!isList(value)) {
    if (level < shape.length) throw ragged(place, "one value", `a list of ${shape[level]}`);
    leaves.push(toLeaf(value, place));
    return;
  }
  if (level === shape.length) throw ragged(place, `a list of ${value.length}`, "one value");
  if (value.length !== shape[level]) throw ragged(place, `${value.length} elements`, String(shape[level]));
  for (let index = 0; index < value.length; index++) {
    flatten(value[index], shape, level + 1, `${place}[${index}]`, leaves);
  }
}

function ragged(place: string, came: string, expected: string): ServingError {
  return new ServingError(
    "invalid_argument",
    `${place} has ${came}, but its first neighbour has ${expected}; a tensor cannot be ragged.`,
  );
}

function toLeaf(value: unknown, place: string): Leaf {
  switch (typeof value) {
    case "number":
    case "bigint":
    case "boolean":
    case "string":
      return value;
    case "object":
      if (Buffer.isBuffer(value)) return value;
      if (isPlainObject(value)) return encoder.encode(toJson(value, place));
  }
  throw unusable(value, place);
}

function toJson(value: PlainObject, place: string): string {
  try {
    return toJsonText(value);
  } catch (reason) {
    const message = `${place} cannot be written as JSON text: ${reasonText(reason)}`;
    throw new ServingError("invalid_argument", message, { cause: reason });
  }
}

function isPlainObject(value: object | null): value is PlainObject {
  if (value === null || looksLikeTensor(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

function unusable(value: unknown, place: string): ServingError {
  const what = typeof value === "object" && value !== null ? `a ${value.constructor?.name ?? "object"}` : String(value);
  const hint = value instanceof Promise ? " Was an await forgotten?" : "";
  return new ServingError(
    "invalid_argument",
    `${place} is ${what}; expected a tensor, number, boolean, string, Buffer, typed array, plain object, or nested arrays of them.${hint}`,
  );
}

function fromLeaves(leaves: readonly Leaf[], shape: readonly number[], place: string, wanted?: DType): Tensor {
  const dtype = wantedFits(leaves, wanted) ? wanted : commonDType(leaves, place);
  if (dtype === "bytes") return createTensor("bytes", shape, leaves.map(toElement));
  const { array } = numericLayout(dtype);
  const data = new array(leaves.length);
  const convert = CONVERSIONS[dtype] ?? Number;
  for (let index = 0; index < leaves.length; index++) data[index] = convert(leaves[index] as number) as never;
  return createTensor(dtype, shape, data as never);
}

const CONVERSIONS: Partial<Record<NumericDType, (value: number) => number | bigint>> = {
  int64: BigInt,
  uint64: BigInt,
  float16: toFloat16,
  bfloat16: toBfloat16,
};

function toElement(leaf: Leaf): Uint8Array {
  return typeof leaf === "string" ? encoder.encode(leaf) : (leaf as Uint8Array);
}

const RANGES: Partial<Record<DType, readonly [bigint, bigint]>> = {
  uint8: [0n, 2n ** 8n - 1n],
  uint16: [0n, 2n ** 16n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
  int8: [-(2n ** 7n), 2n ** 7n - 1n],
  int16: [-(2n ** 15n), 2n ** 15n - 1n],
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), INT64_MAX],
};

/** Whether every leaf keeps its value in the dtype that the model wants. */
function wantedFits(leaves: readonly Leaf[], wanted: DType | undefined): wanted is DType {
  if (wanted === undefined || wanted === "complex64" || wanted === "complex128") return false;
  if (wanted === "bytes") return leaves.every((leaf) => typeof leaf === "string" || leaf instanceof Uint8Array);
  if (wanted === "bool") return leaves.every((leaf) => typeof leaf === "boolean");
  const range = RANGES[wanted];
  if (range === undefined) return floatFits(leaves, FLOAT_ROUNDING[wanted as FloatDType]);
  return leaves.every(
    (leaf) => (typeof leaf === "bigint" || Number.isInteger(leaf)) && within(BigInt(leaf as bigint), range),
  );
}

type FloatDType = "float16" | "bfloat16" | "float32" | "float64";

/** The number that a float dtype holds in the place of a number. */
const FLOAT_ROUNDING: Readonly<Record<FloatDType, (value: number) => number>> = {
  float16: (value) => fromFloat16(toFloat16(value)),
  bfloat16: (value) => fromBfloat16(toBfloat16(value)),
  float32: Math.fround,
  float64: (value) => value,
};

/** Integers alone must keep their value; where a fraction is among them, all may be rounded, but not to infinity. */
function floatFits(leaves: readonly Leaf[], round: (value: number) => number): boolean {
  const mayRound = leaves.some((leaf) => typeof leaf === "number" && !Number.isSafeInteger(leaf));
  return leaves.every((leaf) => {
    if (typeof leaf !== "number") return false;
    if (mayRound) return !Number.isFinite(leaf) || Number.isFinite(round(leaf));
    return round(leaf) === leaf;
  });
}

function within(value: bigint, [min, max]: readonly [bigint, bigint]): boolean {
  return value >= min && value <= max;
}

/** The narrowest rule of {@link PlainValue} that holds for all leaves together. */
function commonDType(leaves: readonly Leaf[], place: string): DType {
  const kinds = new Set(leaves.map((leaf) => (leaf instanceof Uint8Array ? "string" : typeof leaf)));
  if (kinds.size > 1 && !(kinds.size === 2 && kinds.has("number") && kinds.has("bigint"))) {
    throw new ServingError("invalid_argument", `${place} mixes ${[...kinds].join(" and ")}; a tensor has one type.`);
  }
  if (kinds.size === 0) return "float32";
  if (kinds.has("string")) return "bytes";
  if (kinds.has("boolean")) return "bool";
  return numberDType(leaves as readonly (number | bigint)[], kinds.has("bigint"), place);
}

function numberDType(leaves: readonly (number | bigint)[], hasBigInt: boolean, place: string): DType {
  if (leaves.every((leaf) => typeof leaf === "bigint" || Number.isSafeInteger(leaf))) {
    if (leaves.some((leaf) => BigInt(leaf) > INT64_MAX)) return "uint64";
    return !hasBigInt && leaves.every((leaf) => leaf >= INT32.min && leaf <= INT32.max) ? "int32" : "int64";
  }
  if (hasBigInt)
    throw new ServingError("invalid_argument", `${place} mixes bigint with fractions; a tensor has one type.`);
  return "float32";
}
