import { BytesBuilder } from "../../byte-ranges.ts";
import {
  type DType,
  type IntegerRange,
  integerRange,
  type NumericData,
  type NumericDType,
  numericLayout,
} from "../../dtype.ts";
import { HALF_CONVERSIONS, overflowOf, overflows, toBfloat16, toFloat16 } from "../../float16.ts";
import { createTensor, type Tensor } from "../../tensor.ts";
import type { JsonNumbers } from "./json-value.ts";

/** A tensor's elements under construction. */
export class ElementBuffer {
  readonly dtype: DType;
  readonly #rules: NumberRules;
  #bytes: BytesBuilder | undefined;
  #data: NumericData;
  #length = 0;

  /** `expected` elements spare the buffer its growing; only as many should be expected as the request really holds. */
  constructor(dtype: DType, rules: NumberRules, expected = 0) {
    this.dtype = dtype;
    this.#rules = rules;
    this.#data = new (numericLayout(dtype === "bytes" ? "uint8" : dtype).array)(dtype === "bytes" ? 0 : expected);
  }

  /** Number of elements. */
  get length(): number {
    return this.dtype === "bytes" ? (this.#bytes?.count ?? 0) : this.#length;
  }

  /** Appends numbers up to the first that the dtype does not take; returns how many it took. */
  appendNumbers(numbers: JsonNumbers): number {
    if (!takesNumbers(this.dtype)) return 0;
    this.#reserve(numbers.size);
    const taken = fillNumbers(this.#data, this.#length, { numbers, dtype: this.dtype, rules: this.#rules });
    this.#length += taken;
    return taken;
  }

  /** Appends one element that is not a number, a text as UTF-8; returns false if the dtype does not take it. */
  append(element: boolean | string | Uint8Array): boolean {
    const isNumber = typeof element === "boolean" && this.#rules.truthIsNumber === true && hasNumbers(this.dtype);
    if (!isNumber && this.dtype !== (typeof element === "boolean" ? "bool" : "bytes")) return false;
    if (typeof element !== "boolean") {
      this.#bytes ??= new BytesBuilder();
      this.#bytes.append(element);
      return true;
    }
    this.#reserve(1);
    this.#data[this.#length++] = Number(element);
    return true;
  }

  /** Appends NaN; returns false if the dtype has none. */
  appendNaN(): boolean {
    const bits = NAN_BITS[this.dtype];
    if (bits === undefined) return false;
    this.#reserve(1);
    this.#data[this.#length++] = bits;
    return true;
  }

  /** The tensor of all elements; its buffer holds nothing else. */
  finish(shape: readonly number[]): Tensor {
    if (this.dtype === "bytes") return this.#bytes?.finish(shape) ?? createTensor("bytes", shape, []);
    const data = this.#length === this.#data.length ? this.#data : this.#data.slice(0, this.#length);
    return createTensor(this.dtype as NumericDType, shape, data as never);
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#data.length) return;
    const grown = new (numericLayout(this.dtype as NumericDType).array)(Math.max(needed, 2 * this.#data.length));
    grown.set(this.#data as never);
    this.#data = grown;
  }
}

/** Checks for a float dtype whose elements are numbers, and not their bits. */
function hasNumbers(dtype: DType): boolean {
  return dtype === "float32" || dtype === "float64";
}

const NAN_BITS: Partial<Record<DType, number>> = {
  float16: toFloat16(Number.NaN),
  bfloat16: toBfloat16(Number.NaN),
  float32: Number.NaN,
  float64: Number.NaN,
};

function takesNumbers(dtype: DType): boolean {
  return dtype !== "bytes" && dtype !== "bool" && dtype !== "complex64" && dtype !== "complex128";
}

/** Rules for the numbers of a tensor. */
export interface NumberRules {
  /**
   * Numbers that an integer dtype takes: integer literals only, or any of integral value, such as 1.0 and 1e3; beyond
   * 2^53 literals only, since others are rounded.
   */
  readonly integers: "literals" | "values";
  /** Fate of a finite number beyond a float dtype. */
  readonly overflow: "infinite" | "refused";
  /** True if true and false are 1 and 0 among floats. Default: they are refused. */
  readonly truthIsNumber?: boolean;
}

interface Source {
  readonly numbers: JsonNumbers;
  readonly dtype: DType;
  readonly rules: NumberRules;
}

/** Converts numbers into `data` from `start` on, up to the first that does not fit; returns how many it converted. */
function fillNumbers(data: NumericData, start: number, source: Source): number {
  const { dtype } = source;
  if (integerRange(dtype) === undefined) return fillFloats(data as Float64Array, start, source);
  return dtype === "int64" || dtype === "uint64"
    ? fillBigIntegers(data as BigInt64Array, start, source)
    : fillIntegers(data, start, source);
}

function fillFloats(data: Float64Array, start: number, { numbers, dtype, rules }: Source): number {
  const size = rules.overflow === "refused" ? countBefore(numbers, overflowOf(dtype)) : numbers.size;
  const toHalf = HALF_CONVERSIONS[dtype];
  if (toHalf === undefined) copyNumbers(data, start, numbers);
  else
    for (let index = 0; index < size; index++)
      data[start + index] = toHalf(numbers.store.values[numbers.start + index]!);
  return size;
}

/** The count of numbers before the first that is finite, but not below `overflow`. */
function countBefore({ store, start, size }: JsonNumbers, overflow: number): number {
  if (store.bound < overflow) return size;
  const first = store.values.subarray(start, start + size).findIndex((value) => overflows(value, overflow));
  return first === -1 ? size : first;
}

/** So few values are sooner copied than a view of them is made. */
const FEW = 256;

function copyNumbers(data: Float64Array, start: number, { store: { values }, start: first, size }: JsonNumbers): void {
  if (size > FEW) data.set(values.subarray(first, first + size), start);
  else for (let index = 0; index < size; index++) data[start + index] = values[first + index]!;
}

function fillIntegers(data: NumericData, start: number, { numbers, dtype, rules }: Source): number {
  const [first, end] = integerRange(dtype) as IntegerRange;
  const { values } = numbers.store;
  for (let index = 0; index < numbers.size; index++) {
    const value = values[numbers.start + index]!;
    const isInteger = rules.integers === "literals" ? numbers.isInteger(index) : Number.isInteger(value);
    if (!isInteger || value < first || value >= end) return index;
    data[start + index] = value;
  }
  return numbers.size;
}

function fillBigIntegers(data: BigInt64Array, start: number, { numbers, dtype, rules }: Source): number {
  const [first, end] = (integerRange(dtype) as IntegerRange).map(BigInt) as [bigint, bigint];
  for (let index = 0; index < numbers.size; index++) {
    const value = numbers.at(index);
    const isInteger = numbers.isInteger(index) || (rules.integers === "values" && Number.isSafeInteger(value));
    if (!isInteger) return index;
    const integer = BigInt(value);
    if (integer < first || integer >= end) return index;
    data[start + index] = integer;
  }
  return numbers.size;
}
