import { type DType, type NumericDType, numericLayout } from "../../src/tensor/dtype.ts";
import { createTensor, elementCount, type Tensor } from "../../src/tensor/tensor.ts";

/** Numbers that look random and are the same in every run. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** An integer from 0 to below `limit`. */
  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  /** A tensor of rank 0 to 3 with values of every size and sign. */
  tensor(dtype: DType): Tensor {
    const shape = Array.from({ length: this.below(4) }, () => this.below(4));
    const count = elementCount(shape);
    if (dtype === "bytes")
      return createTensor(
        dtype,
        shape,
        Array.from({ length: count }, () => this.#text()),
      );
    return createTensor(dtype, shape, this.#numbers(dtype, count) as never);
  }

  #text(): Uint8Array {
    return this.bytes(this.below(20));
  }

  #numbers(dtype: NumericDType, count: number) {
    const { array, slots, bytes } = numericLayout(dtype);
    const data = new array(count * slots);
    const raw = new Uint8Array(data.buffer);
    for (let start = 0; start < raw.length; start += bytes) {
      // Small and large values alike, so that varints of all lengths occur.
      const width = 1 + this.below(bytes);
      raw.set(dtype === "bool" ? [this.below(2)] : this.bytes(width), start);
    }
    return data;
  }
}
