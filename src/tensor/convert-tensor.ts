import { invalidArgument, type ServingError } from "../errors.ts";
import {
  type DType,
  type IntegerRange,
  integerRange,
  type NumericDType,
  numericLayout,
  type TensorData,
} from "./dtype.ts";
import { floatWriter, fromBfloat16, fromFloat16, overflowOf, overflows, toBfloat16, toFloat16 } from "./float16.ts";
import { createTensor, type Tensor } from "./tensor.ts";

type Value = number | bigint;

/**
 * The tensor with its numbers as another dtype, neither of them complex or `bytes`. Floats are rounded to the nearest,
 * but not to infinity; an integer dtype takes only what it holds exactly: throws `invalid_argument`, naming the
 * element, for a fraction and for a value out of range.
 */
export function convertTensor(tensor: Tensor, dtype: DType): Tensor {
  if (tensor.dtype === dtype) return tensor;
  const [from, to] = [tensor.dtype as NumericDType, dtype as NumericDType];
  const values = toValues(from, tensor.data as TensorData<NumericDType>);
  const data = new (numericLayout(to).array)(values.length);
  const toElement = elementWriter(to);
  for (let index = 0; index < values.length; index++) {
    const value = values[index]!;
    const element = toElement(value);
    if (element === undefined) throw notHeld(value, index, to);
    data[index] = element;
  }
  return createTensor(to, tensor.shape, data as TensorData<typeof to>);
}

function toValues(dtype: NumericDType, data: TensorData<NumericDType>): ArrayLike<Value> {
  if (dtype === "float16") return Float32Array.from(data as Uint16Array, fromFloat16);
  if (dtype === "bfloat16") return Float32Array.from(data as Uint16Array, fromBfloat16);
  return data;
}

/** The function that makes a value an element of a dtype; it returns undefined for one that the dtype does not hold. */
function elementWriter(dtype: NumericDType): (value: Value) => Value | undefined {
  const range = dtype === "bool" ? ([0, 2] as const) : integerRange(dtype);
  if (range === undefined) {
    const write = floatWriter(dtype);
    return (value) => write(Number(value));
  }
  const [first, end] = range;
  const isHeld = (value: Value) =>
    value >= first && value < end && (typeof value === "bigint" || Number.isInteger(value));
  const toElement = /64$/.test(dtype) ? BigInt : Number;
  return (value) => (isHeld(value) ? toElement(value) : undefined);
}

function notHeld(value: Value, index: number, dtype: DType): ServingError {
  const isFraction = !dtype.includes("float") && typeof value === "number" && !Number.isInteger(value);
  const why = isFraction ? "is not an integer" : "is out of its range";
  return invalidArgument(`Element ${index}, ${value}, cannot become ${dtype}: it ${why}.`);
}

/** One element of a plain value: a number, text, or bytes. */
export type Leaf = number | bigint | boolean | string | Uint8Array;

/** Elements in row-major order, and how to name their places. */
export interface Leaves {
  readonly leaves: readonly Leaf[];
  readonly shape: readonly number[];
  /** Of the whole value, such as `boxes`. */
  readonly place: string;
}

type FloatDType = "float16" | "bfloat16" | "float32" | "float64";

/** The number that a float dtype holds in the place of a number. */
const FLOAT_ROUNDING: Readonly<Record<FloatDType, (value: number) => number>> = {
  float16: (value) => fromFloat16(toFloat16(value)),
  bfloat16: (value) => fromBfloat16(toBfloat16(value)),
  float32: Math.fround,
  float64: (value) => value,
};

const INT32 = integerRange("int32");
const INT64 = integerRange("int64");
const UINT64 = integerRange("uint64");

/**
 * The dtype that a plain value's elements get together: the wanted one if it holds them, else the narrowest rule of
 * PlainValue. Throws `invalid_argument`, naming the place, for elements that no dtype holds: mixed types, integers
 * beyond 64 bits, finite fractions that would become infinite. With `roundsIntegers`, a float dtype takes whole numbers
 * as it takes fractions.
 */
export function chooseDType(values: Leaves, wanted: DType | undefined, roundsIntegers = false): DType {
  return wanted !== undefined && fits(values.leaves, wanted, roundsIntegers) ? wanted : commonDType(values);
}

/** Checks that every leaf keeps its value in a dtype. */
function fits(leaves: readonly Leaf[], dtype: DType, roundsIntegers: boolean): boolean {
  if (dtype === "complex64" || dtype === "complex128") return false;
  if (dtype === "bytes") return leaves.every((leaf) => typeof leaf === "string" || leaf instanceof Uint8Array);
  if (dtype === "bool") return leaves.every((leaf) => typeof leaf === "boolean");
  const range = integerRange(dtype);
  if (range === undefined) return floatFits(leaves, dtype as FloatDType, roundsIntegers);
  return leaves.every((leaf) => isExact(leaf) && within(leaf, range));
}

/** Integers alone must keep their value; if a fraction is among them, all may be rounded, but not to infinity. */
function floatFits(leaves: readonly Leaf[], dtype: FloatDType, roundsIntegers: boolean): boolean {
  const [round, overflow] = [FLOAT_ROUNDING[dtype], overflowOf(dtype)];
  const mayRound = roundsIntegers || leaves.some((leaf) => typeof leaf === "number" && !Number.isSafeInteger(leaf));
  return leaves.every((leaf) => {
    if (typeof leaf !== "number") return false;
    return mayRound ? !overflows(leaf, overflow) : round(leaf) === leaf;
  });
}

/** Checks that a leaf is an integer; one beyond 2^53 may stand for its neighbours. */
function isExact(leaf: Leaf): leaf is number | bigint {
  return typeof leaf === "bigint" || Number.isSafeInteger(leaf);
}

function within(value: number | bigint, [first, end]: IntegerRange): boolean {
  return value >= first && value < end;
}

function commonDType(values: Leaves): DType {
  const kinds = new Set(values.leaves.map((leaf) => (leaf instanceof Uint8Array ? "string" : typeof leaf)));
  if (kinds.size > 1 && !(kinds.size === 2 && kinds.has("number") && kinds.has("bigint"))) {
    throw invalidArgument(`${values.place} mixes ${[...kinds].join(" and ")}; a tensor has one type.`);
  }
  if (kinds.size === 0) return "float32";
  if (kinds.has("string")) return "bytes";
  if (kinds.has("boolean")) return "bool";
  return numberDType(values, kinds.has("bigint"));
}

function numberDType(values: Leaves, hasBigInt: boolean): DType {
  const numbers = values.leaves as readonly (number | bigint)[];
  if (!numbers.every(isExact)) {
    if (hasBigInt) throw invalidArgument(`${values.place} mixes bigint with fractions; a tensor has one type.`);
    return float32(values, numbers as readonly number[]);
  }
  if (!hasBigInt && numbers.every((each) => within(each, INT32))) return "int32";
  if (numbers.every((each) => within(each, INT64))) return "int64";
  const outside = numbers.findIndex((each) => !within(each, UINT64));
  if (outside === -1) return "uint64";
  throw invalidArgument(
    `${placeOf(values, outside)} is ${numbers[outside]}, but the integers in ${values.place} fit neither int64 (-2^63 to 2^63-1) nor uint64 (0 to 2^64-1).`,
  );
}

function float32(values: Leaves, numbers: readonly number[]): DType {
  const tooLarge = numbers.findIndex((each) => overflows(each, overflowOf("float32")));
  if (tooLarge === -1) return "float32";
  throw invalidArgument(
    `${placeOf(values, tooLarge)} is ${numbers[tooLarge]}, which float32 would make infinite; give a Float64Array or a float64 tensor.`,
  );
}

/** `boxes[1][2]`, from a row-major index. */
function placeOf({ place, shape }: Leaves, index: number): string {
  let rest = index;
  const indices = shape.map((_, axis) => {
    const stride = shape.slice(axis + 1).reduce((product, size) => product * size, 1);
    const position = Math.floor(rest / stride);
    rest %= stride;
    return `[${position}]`;
  });
  return place + indices.join("");
}
