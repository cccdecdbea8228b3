import { createPackedTensor } from "./packed-tensor.ts";
import { createTensor, type Tensor } from "./tensor.ts";

const FIRST_CAPACITY = 8;

/** Ranges of the elements of a `bytes` tensor in a block of bytes, while they are found. */
export class ByteRanges {
  #ranges = new Uint32Array(FIRST_CAPACITY);
  #length = 0;
  #byteLength = 0;

  /** Number of elements. */
  get count(): number {
    return this.#length / 2;
  }

  /** Length of the last element; 0 without one. */
  get lastBytes(): number {
    return this.#length === 0 ? 0 : this.#ranges[this.#length - 1]! - this.#ranges[this.#length - 2]!;
  }

  /** Adds the element from `start` to `end`. */
  push(start: number, end: number): void {
    if (this.#length === this.#ranges.length) this.#grow(2 * this.#length);
    this.#ranges[this.#length++] = start;
    this.#ranges[this.#length++] = end;
    this.#byteLength += end - start;
  }

  /**
   * Adjusts the number of elements to `count`: drops surplus ones, repeats the last one (or adds empty ones, if there
   * is none).
   */
  fit(count: number): void {
    const missing = count - this.count;
    if (missing <= 0) {
      for (let at = 2 * count; at < this.#length; at += 2)
        this.#byteLength -= this.#ranges[at + 1]! - this.#ranges[at]!;
      this.#length = 2 * count;
      return;
    }
    const start = this.#ranges[this.#length - 2] ?? 0;
    const end = this.#ranges[this.#length - 1] ?? 0;
    this.#grow(2 * count);
    while (this.count < count) this.push(start, end);
  }

  /** A tensor that views its elements in `content`. Throws `invalid_argument` unless their number matches `shape`. */
  toTensor(shape: readonly number[], content: Uint8Array): Tensor<"bytes"> {
    const ranges = this.#ranges.subarray(0, this.#length);
    if (this.#length === 0) return createTensor("bytes", shape, []);
    return createPackedTensor(shape, { content, ranges, byteLength: this.#byteLength });
  }

  #grow(capacity: number): void {
    const grown = new Uint32Array(capacity);
    grown.set(this.#ranges.subarray(0, this.#length));
    this.#ranges = grown;
  }
}
