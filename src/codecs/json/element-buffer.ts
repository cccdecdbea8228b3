import { BytesBuilder } from "../../tensor/bytes-builder.ts";
import type { DType, NumericData, NumericDType } from "../../tensor/dtype.ts";
import { numericLayout } from "../../tensor/dtype.ts";
import { toBfloat16, toFloat16 } from "../../tensor/float16.ts";
import { createTensor, type Tensor } from "../../tensor/tensor.ts";
import { fillNumbers, type NumberRules } from "./fill-numbers.ts";
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

  /** Appends one element that is not a number, a text as UTF-8; returns false where the dtype does not take it. */
  append(element: boolean | string | Uint8Array): boolean {
    if (this.dtype !== (typeof element === "boolean" ? "bool" : "bytes")) return false;
    if (typeof element !== "boolean") {
      this.#bytes ??= new BytesBuilder();
      this.#bytes.append(element);
      return true;
    }
    this.#reserve(1);
    this.#data[this.#length++] = Number(element);
    return true;
  }

  /** Appends NaN; returns false where the dtype has none. */
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

const NAN_BITS: Partial<Record<DType, number>> = {
  float16: toFloat16(Number.NaN),
  bfloat16: toBfloat16(Number.NaN),
  float32: Number.NaN,
  float64: Number.NaN,
};

function takesNumbers(dtype: DType): boolean {
  return dtype !== "bytes" && dtype !== "bool" && dtype !== "complex64" && dtype !== "complex128";
}
