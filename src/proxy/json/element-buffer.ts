import type { DType, NumericData, NumericDType } from "../../tensor/dtype.ts";
import { numericLayout } from "../../tensor/dtype.ts";
import { toBfloat16, toFloat16 } from "../../tensor/float16.ts";
import { createTensor, type Tensor } from "../../tensor/tensor.ts";
import type { JsonNumbers } from "./json-value.ts";

/** What an integer dtype takes: integer literals only, or any number of integral value, such as 1.0 and 1e3. */
export type IntegerRule = "literals" | "values";

/** A tensor's elements under construction. */
export class ElementBuffer {
  readonly dtype: DType;
  readonly #rule: IntegerRule;
  readonly #bytes: Uint8Array[] = [];
  #data: NumericData;
  #length = 0;

  /** `expected` elements spare the buffer its growing; only as many should be expected as the request really holds. */
  constructor(dtype: DType, rule: IntegerRule, expected = 0) {
    this.dtype = dtype;
    this.#rule = rule;
    this.#data = new (numericLayout(dtype === "bytes" ? "uint8" : dtype).array)(dtype === "bytes" ? 0 : expected);
  }

  /** How many elements there are. */
  get length(): number {
    return this.dtype === "bytes" ? this.#bytes.length : this.#length;
  }

  /** Appends numbers up to the first that the dtype does not take; returns how many it took. */
  appendNumbers(numbers: JsonNumbers): number {
    if (!takesNumbers(this.dtype)) return 0;
    this.#reserve(numbers.size);
    const taken = fill(this.#data, this.#length, { numbers, dtype: this.dtype, rule: this.#rule });
    this.#length += taken;
    return taken;
  }

  /** Appends one element that is no number; says whether the dtype takes it. */
  append(element: boolean | Uint8Array): boolean {
    if (this.dtype !== (typeof element === "boolean" ? "bool" : "bytes")) return false;
    if (typeof element !== "boolean") {
      this.#bytes.push(element);
      return true;
    }
    this.#reserve(1);
    this.#data[this.#length++] = Number(element);
    return true;
  }

  /** Appends NaN; says whether the dtype has one. */
  appendNaN(): boolean {
    const bits = NAN_BITS[this.dtype];
    if (bits === undefined) return false;
    this.#reserve(1);
    this.#data[this.#length++] = bits;
    return true;
  }

  /** The tensor of all elements; its buffer holds nothing else. */
  finish(shape: readonly number[]): Tensor {
    if (this.dtype === "bytes") return createTensor("bytes", shape, this.#bytes);
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

const NAN_BITS: Partial<Record<DType, number>> = {
  float16: toFloat16(Number.NaN),
  bfloat16: toBfloat16(Number.NaN),
  float32: Number.NaN,
  float64: Number.NaN,
};

function takesNumbers(dtype: DType): boolean {
  return dtype !== "bytes" && dtype !== "bool" && dtype !== "complex64" && dtype !== "complex128";
}

interface Source {
  readonly numbers: JsonNumbers;
  readonly dtype: DType;
  readonly rule: IntegerRule;
}

/** Converts numbers into `data` from `start` on, up to the first that does not fit; returns how many it converted. */
function fill(data: NumericData, start: number, { numbers, dtype, rule }: Source): number {
  const { store, size } = numbers;
  if (dtype === "float32" || dtype === "float64") {
    (data as Float64Array).set(store.values.subarray(numbers.start, numbers.start + size), start);
    return size;
  }
  const toHalf = HALF_CONVERSIONS[dtype];
  if (toHalf !== undefined) {
    for (let index = 0; index < size; index++)
      data[start + index] = toHalf(store.values[numbers.start + index] as number);
    return size;
  }
  return dtype === "int64" || dtype === "uint64"
    ? fillBigIntegers(data as BigInt64Array, start, { numbers, dtype, rule })
    : fillIntegers(data, start, { numbers, dtype, rule });
}

const HALF_CONVERSIONS: Partial<Record<DType, (value: number) => number>> = {
  float16: toFloat16,
  bfloat16: toBfloat16,
};

const INTEGER_RANGES: Partial<Record<DType, readonly [min: number, max: number]>> = {
  uint8: [0, 2 ** 8 - 1],
  uint16: [0, 2 ** 16 - 1],
  uint32: [0, 2 ** 32 - 1],
  int8: [-(2 ** 7), 2 ** 7 - 1],
  int16: [-(2 ** 15), 2 ** 15 - 1],
  int32: [-(2 ** 31), 2 ** 31 - 1],
};

function fillIntegers(data: NumericData, start: number, { numbers, dtype, rule }: Source): number {
  const [min, max] = INTEGER_RANGES[dtype] as readonly [number, number];
  const { values } = numbers.store;
  for (let index = 0; index < numbers.size; index++) {
    const value = values[numbers.start + index] as number;
    const isInteger = rule === "literals" ? numbers.isInteger(index) : Number.isInteger(value);
    if (!isInteger || value < min || value > max) return index;
    data[start + index] = value;
  }
  return numbers.size;
}

const BIG_RANGES = { int64: [-(2n ** 63n), 2n ** 63n - 1n], uint64: [0n, 2n ** 64n - 1n] } as const;

function fillBigIntegers(data: BigInt64Array, start: number, { numbers, dtype, rule }: Source): number {
  const [min, max] = BIG_RANGES[dtype as keyof typeof BIG_RANGES];
  for (let index = 0; index < numbers.size; index++) {
    const value = numbers.at(index);
    const isInteger = numbers.isInteger(index) || (rule === "values" && Number.isInteger(value));
    if (!isInteger) return index;
    const integer = BigInt(value);
    if (integer < min || integer > max) return index;
    data[start + index] = integer;
  }
  return numbers.size;
}
