import { type ErrorCode, invalidArgument, reasonText, ServingError } from "../errors.ts";
import { didYouMean } from "../platform/text/nearest.ts";
import { chooseDType, type Leaf, type Leaves } from "./convert-tensor.ts";
import { type DType, type NumericData, type NumericDType, numericLayout } from "./dtype.ts";
import { toBfloat16, toFloat16 } from "./float16.ts";
import { isBuffer, toJsonText } from "./json-text.ts";
import { isPlainObject } from "./record.ts";
import {
  assertCarriable,
  createTensor,
  createTensors,
  elementCount,
  looksLikeTensor,
  type Tensor,
  type Tensors,
} from "./tensor.ts";

/**
 * Values that a hook may return for one name, in addition to a {@link Tensor}:
 * - number: int32 if it is an integer that fits, int64 if it is a safe integer, else
 *   float32, if that does not make it infinite;
 *   bigint: int64, or uint64 above its range
 * - boolean: bool; string: `bytes` holding UTF-8; Buffer: one `bytes` element
 * - typed array: a tensor of rank 1 (Float64Array → float64, BigInt64Array → int64 …)
 * - array, nested to any depth, of the above: its elements get one dtype together; every level must be regular
 * - plain object, or an array of them: JSON text, one `bytes` element each
 *
 * Where the model's input has a dtype, a number, bigint or boolean takes that dtype
 * instead: an integer if the dtype holds it exactly, a fraction (and so a list with a
 * fraction in it) any float dtype by rounding, unless it is beyond the dtype's range.
 */
export type PlainValue = Scalar | ArrayBufferView | PlainObject | readonly PlainValue[];
/** JSON data; becomes one `bytes` element of JSON text. */
type PlainObject = { readonly [key: string]: unknown };
/** Tensors and plain values by name: the result of a hook. */
export type Values = { readonly [name: string]: Tensor | PlainValue };

type Scalar = number | bigint | boolean | string;

const encoder = new TextEncoder();

/**
 * Converts named values to tensors; `dtypeOf` returns the dtype for a name's numbers, if it is known. Throws
 * `invalid_argument` as {@link toTensor} does.
 */
export function toTensors(values: Values, dtypeOf: (name: string) => DType | undefined = () => undefined): Tensors {
  if (typeof values !== "object" || values === null) {
    throw invalidArgument(`The values are ${nameOf(values)}; expected an object of values by name.`);
  }
  return createTensors(Object.entries(values).map(([name, value]) => [name, toTensor(value, name, dtypeOf(name))]));
}

/**
 * Turns one value into a tensor by the rules of {@link PlainValue}; throws
 * `invalid_argument` naming the place of what does not fit.
 */
export function toTensor(value: Tensor | PlainValue, place: string, wanted?: DType): Tensor {
  if (looksLikeTensor(value)) return checkedTensor(value, place);
  if (ArrayBuffer.isView(value) && !isBuffer(value)) return fromTypedArray(value, place);
  return fromLeaves(leavesOf(value, place), wanted);
}

/** Declaration of an output; sizes that are no numbers are ranges. */
interface DeclaredOutput {
  readonly name: string;
  readonly dtype: DType;
  readonly shape?: readonly (number | object)[] | undefined;
}

/**
 * Turns the value of an output into a tensor as it is declared, as {@link toTensor} does, except that floats round
 * whole numbers too, and that a plain value has the declared shape if it is an empty list, or one element where
 * one is declared. What fits no declaration stays as it is.
 */
export function toOutput(value: Tensor | PlainValue, { name, dtype, shape }: DeclaredOutput): Tensor {
  if (looksLikeTensor(value) || (ArrayBuffer.isView(value) && !isBuffer(value))) return toTensor(value, name);
  const leaves = leavesOf(value, name);
  return fromLeaves({ ...leaves, shape: declaredShape(leaves.shape, shape) ?? leaves.shape }, dtype, true);
}

/** The declared shape that an empty list, or a single element, takes. */
function declaredShape(came: readonly number[], declared: DeclaredOutput["shape"]): readonly number[] | undefined {
  if (declared === undefined) return undefined;
  const sizes = declared.map((size) => (size === -1 ? 0 : size));
  if (!sizes.every((size) => typeof size === "number")) return undefined;
  const isEmpty = came.length === 1 && came[0] === 0 && declared.includes(-1);
  const isOne = elementCount(came) === 1 && sizes.every((size) => size === 1);
  return isEmpty || isOne ? sizes : undefined;
}

function leavesOf(value: PlainValue, place: string): Leaves {
  const shape = shapeOf(value, place);
  const flat: Flat = { leaves: [], shape, place, path: [] };
  flatten(value, flat);
  return { leaves: flat.leaves, shape, place };
}

/** A hook may have built it with any shape and data. */
function checkedTensor({ dtype, shape, data }: Tensor, place: string): Tensor {
  assertCarriable(shape, place);
  return createTensor(dtype, shape, data);
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
    if (shape.length > 64) throw invalidArgument(`${place} is nested more than 64 levels deep.`);
    shape.push(level.length);
  }
  return shape;
}

function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !isBuffer(value) && "length" in value);
}

/** Leaves that are collected, and the way to the value that is looked at. */
interface Flat {
  readonly leaves: Leaf[];
  readonly shape: readonly number[];
  readonly place: string;
  readonly path: number[];
}

function flatten(value: unknown, flat: Flat): void {
  const { leaves, shape, path } = flat;
  const size = shape[path.length];
  if (!isList(value)) {
    if (size !== undefined) throw ragged(placeIn(flat), "one value", `a list of ${size}`);
    leaves.push(toLeaf(value, flat));
    return;
  }
  if (size === undefined) throw ragged(placeIn(flat), `a list of ${value.length}`, "one value");
  if (value.length !== size) throw ragged(placeIn(flat), `${value.length} elements`, String(size));
  const level = path.push(0) - 1;
  for (let index = 0; index < size; index++) {
    path[level] = index;
    flatten(value[index], flat);
  }
  path.pop();
}

/** Named where something is wrong: the names of all elements would take more memory than they do. */
function placeIn({ place, path }: Flat): string {
  return place + path.map((index) => `[${index}]`).join("");
}

function ragged(place: string, came: string, expected: string): ServingError {
  return invalidArgument(`${place} has ${came}, but its first neighbour has ${expected}; a tensor cannot be ragged.`);
}

function toLeaf(value: unknown, flat: Flat): Leaf {
  switch (typeof value) {
    case "number":
    case "bigint":
    case "boolean":
    case "string":
      return value;
    case "object":
      if (isBuffer(value)) return value;
      if (value !== null && isPlainObject(value) && !looksLikeTensor(value)) return encoder.encode(toJson(value, flat));
  }
  throw unusable(value, placeIn(flat));
}

function toJson(value: PlainObject, flat: Flat): string {
  try {
    return toJsonText(value);
  } catch (reason) {
    const message = `${placeIn(flat)} cannot be written as JSON text: ${reasonText(reason)}`;
    throw invalidArgument(message, reason);
  }
}

function unusable(value: unknown, place: string): ServingError {
  return invalidArgument(
    `${place} is ${nameOf(value)}; expected a tensor, number, boolean, string, Buffer, typed array, plain object, or nested arrays of them.${hintFor(value)}`,
  );
}

/** Advice for a value. The members of a promise are undefined, like those that were not given. */
function hintFor(value: unknown): string {
  if (value instanceof Promise) return " Was an await forgotten?";
  return value === undefined ? " Is its name right, and was awaited what it comes from?" : "";
}

function nameOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return typeof value === "object" ? `a ${value.constructor?.name ?? "object"}` : `a ${typeof value}`;
}

function fromLeaves(values: Leaves, wanted: DType | undefined, roundsIntegers?: boolean): Tensor {
  const { leaves, shape } = values;
  const dtype = chooseDType(values, wanted, roundsIntegers);
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

/** Choices for {@link tensorOf}. */
export interface TensorOfOptions {
  /** The error's code: `invalid_argument` (default) blames the client; use `internal` for a model's output. */
  readonly code?: ErrorCode;
}

/**
 * The tensor under a name, with the type of its data known: `tensorOf(inputs, "x", "float32").data` is a Float32Array.
 * Plain values, as hooks get them over PredictJSON, become tensors of that dtype first. Throws if the name is
 * missing, saying which there are, and if the tensor has another dtype.
 */
export function tensorOf<D extends DType>(
  values: Values,
  name: string,
  dtype: D,
  { code = "invalid_argument" }: TensorOfOptions = {},
): Tensor<D> {
  if (!Object.hasOwn(values, name)) {
    const names = Object.keys(values);
    const known = names.length === 0 ? "There are none" : `There are ${names.join(", ")}`;
    throw new ServingError(code, `"${name}" is missing.${didYouMean(name, names)} ${known}.`);
  }
  const tensor = toTensor(values[name] as Values[string], name, dtype);
  if (tensor.dtype === dtype) return tensor as Tensor<D>;
  throw new ServingError(code, `"${name}" is ${tensor.dtype} [${tensor.shape}]; expected ${dtype}.`);
}
