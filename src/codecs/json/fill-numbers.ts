import type { DType, NumericData } from "../../tensor/dtype.ts";
import { overflowOf, overflows } from "../../tensor/float-range.ts";
import { HALF_CONVERSIONS } from "../../tensor/float16.ts";
import { type IntegerRange, integerRange } from "../../tensor/integer-range.ts";
import type { JsonNumbers } from "./json-value.ts";

/** Rules for the numbers of a tensor. */
export interface NumberRules {
  /**
   * Numbers that an integer dtype takes: integer literals only, or any of integral value, such as 1.0 and 1e3; beyond
   * 2^53 literals only, since others are rounded.
   */
  readonly integers: "literals" | "values";
  /** Fate of a finite number beyond a float dtype. */
  readonly overflow: "infinite" | "refused";
}

interface Source {
  readonly numbers: JsonNumbers;
  readonly dtype: DType;
  readonly rules: NumberRules;
}

/** Converts numbers into `data` from `start` on, up to the first that does not fit; returns how many it converted. */
export function fillNumbers(data: NumericData, start: number, source: Source): number {
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
