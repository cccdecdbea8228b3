import type { ErrorHint } from "../../../error-info.ts";
import { type DType, integerRange } from "../../dtype.ts";
import { MAX_RANK, type Tensor } from "../../tensor.ts";
import { ElementBuffer, type NumberRules } from "./element-buffer.ts";
import { isJsonList, type JsonList, JsonNumbers, type JsonObject, type JsonValue } from "./json-value.ts";

/** Rules for tensors in JSON, which differ between protocols. */
export interface JsonTensorRules extends NumberRules {
  /** True if null means NaN in a float tensor. */
  readonly nullIsNaN: boolean;
  /** The bytes of null among strings; absent = it is refused. */
  readonly nullText?: Uint8Array;
  /** The bytes of a string element; the UTF-8 of a text. */
  readonly text: (text: string) => string | Uint8Array;
  /**
   * The bytes of an object element, to which the indices of `path` lead; throws for an object that is not an encoded
   * element.
   */
  readonly object: (object: JsonObject, path: readonly number[]) => Uint8Array;
  /** The error for a value that does not fit. */
  readonly refuse: (mismatch: Mismatch) => Error;
}

/** The reason why a value is not a tensor, with its place: `path` are the indices that lead there. */
export type Mismatch = { readonly path: readonly number[]; readonly shape: readonly number[] } & (
  | { readonly kind: "type"; readonly value: JsonValue; readonly dtype: DType }
  /** A list of `size` elements, where the first list of that level has another size. */
  | { readonly kind: "size"; readonly size: number }
  /** A list if the first value at that level is not a list. */
  | { readonly kind: "list" }
  /** A single value if the first one at that level is a list. */
  | { readonly kind: "value"; readonly value: JsonValue }
  | { readonly kind: "rank" }
);

/** The fault of an input's value, for programs. */
export function mismatchHint(field: string, mismatch: Mismatch): ErrorHint {
  if (mismatch.kind === "type") return { reason: "WRONG_DTYPE", field, expected: mismatch.dtype };
  return { reason: "WRONG_SHAPE", field, expected: `[${mismatch.shape}]` };
}

/**
 * Numbers as a tensor of a dtype, or undefined if it does not take all of them:
 * {@link toJsonTensor} gives the reason.
 */
export function toNumericTensor(numbers: JsonNumbers, dtype: DType, rules: NumberRules): Tensor | undefined {
  const elements = new ElementBuffer(dtype, rules, numbers.size);
  return elements.appendNumbers(numbers) === numbers.size ? elements.finish(numbers.shape) : undefined;
}

/**
 * Turns a JSON value into a tensor of a dtype. The shape is that of the first element at each level; all must have it.
 */
export function toJsonTensor(value: JsonValue, dtype: DType, rules: JsonTensorRules): Tensor {
  const numeric = value instanceof JsonNumbers ? toNumericTensor(value, dtype, rules) : undefined;
  if (numeric !== undefined) return numeric;
  const shape = shapeOf(value, rules);
  const elements = new ElementBuffer(dtype, rules);
  appendElements(elements, value, { shape, rules });
  return elements.finish(shape);
}

/** The lengths of the first list at each level. */
export function shapeOf(value: JsonValue, rules: JsonTensorRules): readonly number[] {
  const shape: number[] = [];
  let level = value;
  while (isJsonList(level) && shape.length <= MAX_RANK) {
    shape.push(level.length);
    if (level.length === 0) break;
    level = level[0]!;
  }
  if (level instanceof JsonNumbers) shape.push(...level.shape);
  if (shape.length > MAX_RANK) throw rules.refuse({ kind: "rank", path: [], shape: shape.slice(0, MAX_RANK) });
  return shape;
}

/** Shape and dtype that {@link appendElements} checks values against. */
interface Expected {
  readonly shape: readonly number[];
  readonly rules: JsonTensorRules;
}

/** Appends all elements of a value, which must have the given shape. */
export function appendElements(elements: ElementBuffer, value: JsonValue, expected: Expected): void {
  new Appender(elements, expected).append(value);
}

class Appender {
  readonly #elements: ElementBuffer;
  readonly #shape: readonly number[];
  readonly #rules: JsonTensorRules;
  /** The indices that lead to the value at hand; its length is the level. */
  readonly #path: number[] = [];

  constructor(elements: ElementBuffer, { shape, rules }: Expected) {
    this.#elements = elements;
    this.#shape = shape;
    this.#rules = rules;
  }

  append(value: JsonValue): void {
    if (value instanceof JsonNumbers) this.#appendNumbers(value);
    else if (isJsonList(value)) this.#appendList(value);
    else if (this.#path.length < this.#shape.length) throw this.#refuse({ kind: "value", value });
    else if (!this.#appendScalar(value)) throw this.#refuse({ kind: "type", value, dtype: this.#elements.dtype });
  }

  /** The levels of a list are as many as the shape's at most, so the call stack is bounded. */
  #appendList(list: JsonList): void {
    this.#checkSize(list.length, this.#path.length);
    for (let index = 0; index < list.length; index++) {
      this.#path.push(index);
      this.append(list[index]!);
      this.#path.pop();
    }
  }

  #appendNumbers(numbers: JsonNumbers): void {
    const level = this.#path.length;
    for (const [depth, size] of numbers.shape.entries()) this.#checkSize(size, level + depth);
    if (level + numbers.shape.length < this.#shape.length) throw this.#refuse({ kind: "value", value: numbers });
    const taken = this.#elements.appendNumbers(numbers);
    if (taken === numbers.size) return;
    this.#path.push(...indicesOf(taken, numbers.shape));
    throw this.#refuse({ kind: "type", value: numbers.scalar(taken), dtype: this.#elements.dtype });
  }

  #appendScalar(value: null | boolean | string | JsonObject): boolean {
    if (value === null) return this.#appendNull();
    if (typeof value === "boolean") return this.#elements.append(value);
    if (this.#elements.dtype !== "bytes") return false;
    const bytes = typeof value === "string" ? this.#rules.text(value) : this.#rules.object(value, this.#path);
    return this.#elements.append(bytes);
  }

  #appendNull(): boolean {
    const { nullIsNaN, nullText } = this.#rules;
    if (this.#elements.dtype !== "bytes") return nullIsNaN && this.#elements.appendNaN();
    return nullText !== undefined && this.#elements.append(nullText);
  }

  #checkSize(size: number, level: number): void {
    if (level >= this.#shape.length) throw this.#refuse({ kind: "list" }, level);
    if (size !== this.#shape[level]) throw this.#refuse({ kind: "size", size }, level);
  }

  /** `level` is deeper than the path if a list within a block of numbers is meant: the first one there. */
  #refuse(reason: Reason, level = this.#path.length): Error {
    const path = [...this.#path, ...new Array<number>(level - this.#path.length).fill(0)];
    return this.#rules.refuse({ ...reason, path, shape: this.#shape } as Mismatch);
  }
}

type Reason = Mismatch extends infer Each ? (Each extends Mismatch ? Omit<Each, "path" | "shape"> : never) : never;

/** The index in each dimension of an element, from its row-major index. */
function indicesOf(index: number, shape: readonly number[]): number[] {
  let rest = index;
  return shape
    .toReversed()
    .map((dim) => {
      const at = rest % dim;
      rest = Math.floor(rest / dim);
      return at;
    })
    .toReversed();
}

const INT32 = integerRange("int32");
const INT64 = integerRange("int64");

/**
 * The dtype of values that no signature describes, together: integer literals are int32 if all fit, else int64, or
 * uint64 above its range; with any other literal among them (1.5, 1.0, 1e3, NaN) they are `floats`; strings and encoded
 * bytes are `bytes`, true and false `bool`. The first element that is not null says which of these it is; others must
 * follow it. Null counts as NaN among numbers. Numbers that a `likely` dtype holds have that, unless it is of 16 bits;
 * fractions are rounded to it.
 */
export function inferDType(
  values: readonly JsonValue[],
  floats: "float32" | "float64" = "float32",
  likely?: DType,
): DType {
  const dtype = narrowDType(values);
  if (likely !== undefined && isHeld(values, dtype, likely)) return likely;
  return dtype === "float32" ? floats : dtype;
}

/** Between these a float dtype has every integer. */
const EXACT: Partial<Record<DType, NonNullable<ReturnType<typeof integerRange>>>> = {
  float32: [-(2 ** 24), 2 ** 24 + 1],
  float64: [-(2 ** 53), 2 ** 53 + 1],
};

function isHeld(values: readonly JsonValue[], dtype: DType, likely: DType): boolean {
  if (dtype === "bool" || dtype === "bytes") return false;
  const hasFractions = dtype.startsWith("float");
  const exact = EXACT[likely];
  if (exact !== undefined) return hasFractions || areWithin(values, exact);
  const range = integerRange(likely);
  return range !== undefined && !hasFractions && areWithin(values, range);
}

function areWithin(values: readonly JsonValue[], range: NonNullable<ReturnType<typeof integerRange>>): boolean {
  const pending = [...values];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (isJsonList(value)) for (const each of value) pending.push(each);
    else if (!(value instanceof JsonNumbers) || !isWithin(value, range)) return false;
  }
  return true;
}

function isWithin(numbers: JsonNumbers, [low, high]: NonNullable<ReturnType<typeof integerRange>>): boolean {
  for (let index = 0; index < numbers.size; index++) {
    const number = numbers.at(index);
    if (number < low || number >= high) return false;
  }
  return true;
}

function narrowDType(values: readonly JsonValue[]): DType {
  const [first] = values;
  if (values.length === 1 && first instanceof JsonNumbers) return numberDType(first);
  let dtype: DType | undefined;
  let hasNull = false;
  const pending = [...values].reverse();
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (value instanceof JsonNumbers) dtype = widest(dtype, numberDType(value));
    else if (isJsonList(value)) for (let index = value.length; index-- > 0; ) pending.push(value[index]!);
    else if (value === null) hasNull = true;
    else if (dtype === undefined) return scalarDType(value);
    if (dtype === "float32") return dtype;
  }
  if (!hasNull) return dtype ?? "float32";
  return dtype === "int64" || dtype === "uint64" ? "float64" : "float32";
}

const WIDENING: readonly DType[] = ["int32", "int64", "uint64", "float32"];

function widest(first: DType | undefined, second: DType): DType {
  return first !== undefined && WIDENING.indexOf(first) > WIDENING.indexOf(second) ? first : second;
}

function scalarDType(value: JsonValue): DType {
  return typeof value === "boolean" ? "bool" : "bytes";
}

function numberDType(numbers: JsonNumbers): DType {
  const { store, start, size } = numbers;
  for (let index = 0; index < size; index++) if (!numbers.isInteger(index)) return "float32";
  const values = store.values.subarray(start, start + size);
  if (values.every((value) => value >= INT32[0] && value < INT32[1])) return "int32";
  const isAbove = values.some((_, index) => numbers.at(index) >= INT64[1]);
  return isAbove ? "uint64" : "int64";
}
